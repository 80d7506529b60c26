// SPDX-License-Identifier: MIT
#include "decode/code/address_space_builder.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace flowback {
namespace {

// Ranges are compared by their first and last byte: a range may end with the address space itself,
// where its end would wrap to 0.
uint64_t LastByte(uint64_t address, uint64_t size) { return address + (size - 1); }
uint64_t LastByte(const CodeMapping& mapping) { return LastByte(mapping.address, mapping.size); }

// `size`, cut at the end of the address space.
uint64_t SizeWithin(uint64_t address, uint64_t size) {
  return address == 0 ? size : std::min(size, -address);
}

// The part of `mapping` from `address` on, which is inside it.
CodeMapping TailFrom(CodeMapping mapping, uint64_t address) {
  const uint64_t skipped = address - mapping.address;
  mapping.address = address;
  mapping.size -= skipped;
  mapping.section_offset += skipped;
  return mapping;
}

// The part of the mapping that its section has bytes for.
CodeMapping CutToSection(CodeMapping mapping) {
  const uint64_t bytes = mapping.section->bytes().size();
  const uint64_t available = bytes - std::min(bytes, mapping.section_offset);
  mapping.size = std::min(SizeWithin(mapping.address, mapping.size), available);
  return mapping;
}

}  // namespace

AddressSpaceBuilder::AddressSpaceBuilder(const AddressSpace& space) {
  for (const CodeMapping& mapping : space.mappings())
    mappings_.emplace_hint(mappings_.end(), mapping.address, mapping);
}

AddressSpaceBuilder::Mappings::const_iterator AddressSpaceBuilder::FirstReaching(
    uint64_t address) const {
  auto found = mappings_.upper_bound(address);
  if (found == mappings_.begin()) return found;
  const auto before = std::prev(found);
  return LastByte(before->second) >= address ? before : found;
}

void AddressSpaceBuilder::Map(const CodeMapping& mapping) {
  Unmap(mapping.address, mapping.size);
  const CodeMapping cut = CutToSection(mapping);
  if (cut.size != 0) mappings_.emplace(cut.address, cut);
}

void AddressSpaceBuilder::Unmap(uint64_t address, uint64_t size) {
  size = SizeWithin(address, size);
  if (size == 0) return;
  const uint64_t last = LastByte(address, size);
  for (auto at = FirstReaching(address); at != mappings_.end() && at->first <= last;) {
    const CodeMapping old = at->second;
    at = mappings_.erase(at);
    if (old.address < address) {
      CodeMapping head = old;
      head.size = address - old.address;
      mappings_.emplace_hint(at, head.address, head);
    }
    if (LastByte(old) > last) mappings_.emplace_hint(at, last + 1, TailFrom(old, last + 1));
  }
}

bool AddressSpaceBuilder::Overlaps(uint64_t address, uint64_t size) const {
  size = SizeWithin(address, size);
  if (size == 0) return false;
  const auto found = FirstReaching(address);
  return found != mappings_.end() && found->first <= LastByte(address, size);
}

bool AddressSpaceBuilder::Has(const CodeMapping& mapping) const {
  const CodeMapping cut = CutToSection(mapping);
  const auto found = mappings_.find(cut.address);
  return found != mappings_.end() && found->second.size == cut.size &&
         found->second.section == cut.section && found->second.section_offset == cut.section_offset;
}

AddressSpace AddressSpaceBuilder::Build() const {
  std::vector<CodeMapping> sorted;
  sorted.reserve(mappings_.size());
  for (const auto& [address, mapping] : mappings_) sorted.push_back(mapping);
  return AddressSpace(std::move(sorted));
}

}  // namespace flowback
