// SPDX-License-Identifier: MIT
#include "capture/emulate/block.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "capture/record/branch_outcome.h"
#include "decode/instruction/classify.h"

namespace flowback::emulate {
namespace {

BlockEnd EndOf(const Instruction& last, Bytes code, uint64_t ip) {
  switch (last.kind) {
    case InstructionClass::kOther:
      return BlockEnd::kSequential;
    case InstructionClass::kConditional:
      return last.Target(ip) == ip + last.length ? BlockEnd::kEitherWay : BlockEnd::kConditional;
    case InstructionClass::kJump:
      return BlockEnd::kJump;
    case InstructionClass::kCall:
      return BlockEnd::kCall;
    case InstructionClass::kReturn:
    case InstructionClass::kIndirectJump:
    case InstructionClass::kIndirectCall:
    case InstructionClass::kFarJump:
    case InstructionClass::kFarReturn:
      return BlockEnd::kIndirect;
    case InstructionClass::kFarCall:
      if (record::RaisesTrap(last, code)) return BlockEnd::kTrap;
      return last.flags & kFlagSyscall ? BlockEnd::kKernel : BlockEnd::kUnknown;
  }
  return BlockEnd::kUnknown;
}

// The class of each instruction; false when one is not as the emulator has it, or transfers control
// in mid-block.
bool Classify(Bytes code, const std::vector<uint8_t>& lengths, Instruction& last) {
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] > code.size()) return false;
    if (!flowback::Classify(code.first(lengths[i]), ExecMode::k64Bit, last)) return false;
    if (last.length != lengths[i]) return false;
    if (i + 1 < lengths.size() && last.kind != InstructionClass::kOther) return false;
    code = code.subspan(lengths[i]);
  }
  return !lengths.empty();
}

}  // namespace

std::optional<size_t> Block::IndexOf(uint64_t address) const {
  uint64_t at = start;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (at == address) return i;
    at += lengths[i];
  }
  return std::nullopt;
}

FlowDigest Block::Prefix(size_t instructions) const {
  FlowDigest result;
  uint64_t at = start;
  for (size_t i = 0; i < instructions; ++i) {
    result.Append(at);
    at += lengths[i];
  }
  return result;
}

std::unique_ptr<Block> DescribeBlock(uint64_t start, Bytes code, std::vector<uint8_t> lengths) {
  auto block = std::make_unique<Block>();
  block->start = start;
  block->lengths = std::move(lengths);
  const auto& sizes = block->lengths;
  block->end = std::accumulate(sizes.begin(), sizes.end(), start);
  block->last_ip = block->end - (sizes.empty() ? 0 : sizes.back());
  if (Classify(code, sizes, block->last)) {
    const Bytes last = code.subspan(block->last_ip - start, sizes.back());
    block->kind = EndOf(block->last, last, block->last_ip);
    if (IsDirect(block->last.kind)) block->target = block->last.Target(block->last_ip);
  }
  block->digest = block->Prefix(sizes.size());
  block->power = FlowDigest::Power(sizes.size());
  return block;
}

Block& BlockTable::Add(uint64_t start, Bytes code, std::vector<uint8_t> lengths) {
  const auto [first, last] = blocks_.equal_range(start);
  for (auto it = first; it != last; ++it)
    if (it->second.block->lengths == lengths && std::ranges::equal(it->second.code, code))
      return *it->second.block;
  auto block = DescribeBlock(start, code, std::move(lengths));
  block->may_be_handler = IsHandler(start);
  const auto added = blocks_.emplace(
      start, Entry{std::vector<uint8_t>(code.begin(), code.end()), std::move(block)});
  return *added->second.block;
}

void BlockTable::AddHandler(uint64_t address) {
  handlers_.insert(address);
  const auto [first, last] = blocks_.equal_range(address);
  for (auto it = first; it != last; ++it) it->second.block->may_be_handler = true;
}

}  // namespace flowback::emulate
