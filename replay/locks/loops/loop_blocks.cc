// SPDX-License-Identifier: MIT
#include "replay/locks/loops/loop_blocks.h"

#include <numeric>
#include <string>

#include "decode/instruction/classify.h"
#include "flowback/decode/code_image.h"

namespace flowback {
namespace {

Bytes CodeIn(const AddressSpace* space, uint64_t address, uint64_t size) {
  const CodeMapping* mapping = space == nullptr ? nullptr : space->Find(address);
  if (mapping == nullptr) return {};
  const uint64_t offset = mapping->section_offset + (address - mapping->address);
  const Bytes bytes = mapping->section->bytes();
  if (offset > bytes.size() || bytes.size() - offset < size) return {};
  return bytes.subspan(offset, size);
}

bool IsLinker(const AddressSpace* space, uint64_t address) {
  const CodeMapping* mapping = space == nullptr ? nullptr : space->Find(address);
  if (mapping == nullptr) return false;
  const std::string& path = mapping->section->name();
  const std::string file = path.substr(path.rfind('/') + 1);
  // A copy beside a recording has a number before its name.
  const size_t at = file.find("ld-linux");
  return at == 0 || (at != std::string::npos && file[at - 1] == '-') ||
         file.starts_with("ld-musl") || file.starts_with("ld-2.") || file.starts_with("ld.so");
}

bool IsVdso(const AddressSpace* space, uint64_t address) {
  const CodeMapping* mapping = space == nullptr ? nullptr : space->Find(address);
  return mapping != nullptr && mapping->section->name().contains("vdso");
}

}  // namespace

std::optional<size_t> LoopBlock::InstructionAt(uint64_t ip) const {
  if (ip < address || ip >= end) return std::nullopt;
  uint64_t at = address;
  for (size_t i = 0; i < lengths.size() && at <= ip; at += lengths[i++])
    if (at == ip) return i;
  return std::nullopt;
}

size_t LoopBlocks::Hash::operator()(const Key& key) const {
  const std::hash<uint64_t> hash;
  return hash(key.address * 0x9e3779b97f4a7c15 ^ key.end ^ reinterpret_cast<uintptr_t>(key.space));
}

LoopBlock& LoopBlocks::Of(const BlockRun& run) {
  return Find(run.space, run.mode, run.address, run.lengths, run.last);
}

LoopBlock& LoopBlocks::Make(const BlockTable& table, uint32_t number) {
  const CodeBlock& block = table[number];
  return Find(&table.space(), table.mode(), block.address, {block.lengths, block.count},
              block.last);
}

LoopBlock& LoopBlocks::Find(const AddressSpace* space, CodeMode mode, uint64_t address,
                            std::span<const uint8_t> lengths, InstructionClass last) {
  const uint64_t size = std::accumulate(lengths.begin(), lengths.end(), uint64_t{0});
  LoopBlock*& known = by_place_[{.space = space, .address = address, .end = address + size}];
  if (known != nullptr) return *known;
  LoopBlock& block = blocks_.emplace_back();
  known = &block;
  block.space = space;
  block.mode = mode;
  block.address = address;
  block.end = address + size;
  block.code = CodeIn(space, address, size);
  block.lengths.assign(lengths.begin(), lengths.end());
  block.last = last;
  const BlockTraits traits = TraitsOf(block.code, address, mode);
  block.stores = block.code.empty() || traits.stores;
  block.atomic = traits.atomic;
  block.is_linker = IsLinker(space, address);
  block.is_vdso = IsVdso(space, address);
  const bool jumps = last == InstructionClass::kConditional || last == InstructionClass::kJump;
  if (!jumps || block.code.empty() || lengths.empty()) return block;
  const uint64_t at = block.end - lengths.back();
  Instruction branch;
  if (!Classify(block.code.last(lengths.back()), mode, branch) || branch.Target(at) > at)
    return block;
  block.branch = at;
  block.target = branch.Target(at);
  return block;
}

}  // namespace flowback
