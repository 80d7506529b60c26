// SPDX-License-Identifier: MIT
#include "flowback/decode/code_image.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "decode/code/address_space_builder.h"
#include "decode/code/block_cache.h"

namespace flowback {
namespace {

bool Contains(const CodeMapping& mapping, uint64_t address) {
  return address - mapping.address < mapping.size;
}

// The first mapping that ends behind `address`.
auto FirstReaching(const std::vector<CodeMapping>& mappings, uint64_t address) {
  return std::partition_point(mappings.begin(), mappings.end(), [&](const CodeMapping& mapping) {
    return mapping.address + (mapping.size - 1) < address;
  });
}

}  // namespace

CodeSection::CodeSection(std::string name, uint64_t file_offset, Bytes bytes,
                         std::shared_ptr<const void> owner, Verification verification)
    : name_(std::move(name)),
      file_offset_(file_offset),
      bytes_(bytes),
      owner_(std::move(owner)),
      verification_(verification),
      blocks_(std::make_unique<BlockCache>(bytes)) {}

CodeSection::~CodeSection() = default;

void AddressSpace::Map(CodeMapping mapping) {
  AddressSpaceBuilder builder(*this);
  builder.Map(mapping);
  *this = builder.Build();
}

const CodeMapping* AddressSpace::Find(uint64_t address) const {
  const auto found = FirstReaching(mappings_, address);
  return found != mappings_.end() && Contains(*found, address) ? &*found : nullptr;
}

size_t AddressSpace::Read(uint64_t address, uint8_t* buffer, size_t size) const {
  size_t done = 0;
  auto mapping = FirstReaching(mappings_, address);
  while (done < size && mapping != mappings_.end() && Contains(*mapping, address + done)) {
    const uint64_t skipped = address + done - mapping->address;
    const Bytes bytes = mapping->section->bytes().subspan(mapping->section_offset + skipped);
    const size_t part = std::min<uint64_t>(size - done, mapping->size - skipped);
    std::memcpy(buffer + done, bytes.data(), part);
    done += part;
    ++mapping;
  }
  return done;
}

}  // namespace flowback
