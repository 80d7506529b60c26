// SPDX-License-Identifier: MIT
#include "capture/emulate/block.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "capture/record/generate/branch_outcome.h"
#include "decode/instruction/classify.h"
#include "decode/instruction/x86/prefixes.h"

namespace flowback::emulate {
namespace {

// AArch64's BRK and similar instructions all raise a trap: SVC alone makes a system call.
BlockEnd EndOfFarCall(const Instruction& last, Bytes code, CodeMode mode) {
  const bool calls = (last.flags & kFlagSyscall) != 0;
  if (mode == CodeMode::kAArch64) return calls ? BlockEnd::kKernel : BlockEnd::kTrap;
  if (record::RaisesTrap(last, code)) return BlockEnd::kTrap;
  return calls ? BlockEnd::kKernel : BlockEnd::kUnknown;
}

BlockEnd EndOf(const Instruction& last, Bytes code, uint64_t ip, CodeMode mode) {
  switch (last.kind) {
    case InstructionClass::kOther:
      return BlockEnd::kSequential;
    case InstructionClass::kConditional:
      return last.Target(ip) == ip + last.length ? BlockEnd::kEitherWay : BlockEnd::kConditional;
    case InstructionClass::kJump:
      return BlockEnd::kJump;
    case InstructionClass::kCall:
      return last.flags & kFlagZeroCall ? BlockEnd::kJump : BlockEnd::kCall;
    case InstructionClass::kReturn:
      return BlockEnd::kReturn;
    case InstructionClass::kIndirectJump:
    case InstructionClass::kIndirectCall:
    case InstructionClass::kFarJump:
    case InstructionClass::kFarReturn:
      return BlockEnd::kIndirect;
    case InstructionClass::kFarCall:
      return EndOfFarCall(last, code, mode);
  }
  return BlockEnd::kUnknown;
}

// An instruction that would cross into the next page begins a block of its own: the emulator ends
// the block before it, yet lists the bytes it had read of it already.
void DropUnfinished(uint64_t start, Bytes code, CodeMode mode, std::vector<uint8_t>& lengths) {
  constexpr uint64_t kPage = 4096;
  if (lengths.size() < 2) return;
  const uint64_t before = std::accumulate(lengths.begin(), lengths.end() - 1, uint64_t{0});
  Instruction instruction;
  const bool near_end =
      (start + before + TraitsOf(mode).longest_instruction) / kPage != start / kPage;
  if (near_end && !Classify(code.subspan(before), mode, instruction)) lengths.pop_back();
}

// The class of each instruction; false when one is not as the emulator has it, or transfers control
// in mid-block.
bool ClassifyAll(Bytes code, const std::vector<uint8_t>& lengths, CodeMode mode,
                 Instruction& last) {
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] > code.size()) return false;
    if (!Classify(code.first(lengths[i]), mode, last)) return false;
    if (last.length != lengths[i]) return false;
    if (i + 1 < lengths.size() && last.kind != InstructionClass::kOther) return false;
    code = code.subspan(lengths[i]);
  }
  return !lengths.empty();
}

// Division, and x87; in 32-bit code also BOUND, AAM and a segment's load. (What else raises faults
// but memory ends a block.)
bool MayRaise(Bytes code, CodeMode mode) {
  if (mode == CodeMode::kAArch64) return false;
  const bool is_long = mode == CodeMode::kX86_64;
  size_t at = 0;
  while (at + 1 < code.size() &&
         ((is_long && x86::IsRex(code[at])) || code[at] == x86::kOperandSizePrefix))
    ++at;
  if (code.empty()) return true;
  const uint8_t opcode = code[at];
  if (!is_long && (opcode == 0x62 || opcode == 0x8e || opcode == 0xd4)) return true;
  return opcode == 0xf6 || opcode == 0xf7 || opcode == 0x9b || (opcode >= 0xd8 && opcode <= 0xdf);
}

// Fills in what the callback of the next block goes by.
void NoteSuccessors(Block& block) {
  if (block.instructions == 1) block.marks_after.fetch_or(kMarkInside);
  if (block.target >= block.start && block.target < block.last_ip)
    block.marks_before |= kMarkInside;
  switch (block.kind) {
    case BlockEnd::kSequential:
      block.when_taken = block.when_not = block.end;
      break;
    case BlockEnd::kJump:
      block.when_taken = block.when_not = block.target;
      break;
    case BlockEnd::kConditional:
      block.when_taken = block.target;
      block.when_not = block.end;
      block.outcome_mask = ~uint64_t{0};
      break;
    default:
      break;
  }
}

// Only sequential ends are handled at once.
void TellEachBranch(Block& block) {
  if (block.kind == BlockEnd::kSequential) return;
  block.outcome_mask = 0;
  block.when_taken = Block::kNowhere;
  if (block.kind == BlockEnd::kJump) block.when_not = Block::kNowhere;
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

FlowDigest Block::Prefix(size_t length) const {
  FlowDigest result;
  uint64_t at = start;
  for (size_t i = 0; i < length; ++i) {
    result.Append(at);
    at += lengths[i];
  }
  return result;
}

std::unique_ptr<Block> DescribeBlock(uint64_t start, Bytes code, std::vector<uint8_t> lengths,
                                     CodeMode mode) {
  auto block = std::make_unique<Block>();
  block->start = start;
  block->mode = mode;
  DropUnfinished(start, code, mode, lengths);
  block->lengths = std::move(lengths);
  const auto& sizes = block->lengths;
  block->end = std::accumulate(sizes.begin(), sizes.end(), start);
  block->last_ip = block->end - (sizes.empty() ? 0 : sizes.back());
  if (ClassifyAll(code, sizes, mode, block->last)) {
    const Bytes last = code.subspan(block->last_ip - start, sizes.back());
    block->kind = EndOf(block->last, last, block->last_ip, mode);
    if (IsDirect(block->last.kind)) block->target = block->last.Target(block->last_ip);
  }
  block->hash = block->Prefix(sizes.size()).hash;
  block->instructions = static_cast<uint32_t>(sizes.size());
  block->power = FlowDigest::Power(sizes.size());
  block->first_may_raise = MayRaise(code, mode);
  NoteSuccessors(*block);
  return block;
}

Block& EmulatedBlocks::Add(uint64_t start, Bytes code, std::vector<uint8_t> lengths) {
  const std::lock_guard lock(adding_);
  const auto [first, last] = blocks_.equal_range(start);
  for (auto it = first; it != last; ++it)
    if (it->second.lengths == lengths && std::ranges::equal(it->second.code, code))
      return *it->second.block;
  Entry entry{
      {code.begin(), code.end()}, lengths, DescribeBlock(start, code, lengths, settings_.mode)};
  if (IsHandler(start)) entry.block->SetMayBeHandler();
  if (settings_.branches)
    TellEachBranch(*entry.block);
  else if (!settings_.quick_outcomes && entry.block->outcome_mask != 0)
    entry.block->when_taken = entry.block->when_not = Block::kNowhere;
  return *blocks_.emplace(start, std::move(entry))->second.block;
}

bool EmulatedBlocks::MayGoRound(const Block& block) const {
  constexpr unsigned kFar = 512;  // blocks
  const std::lock_guard lock(adding_);
  const Block* at = &block;
  for (unsigned i = 0; i < kFar; ++i) {
    const bool leads = at->kind == BlockEnd::kJump || at->kind == BlockEnd::kCall;
    if (!leads && at->kind != BlockEnd::kSequential) return false;
    const auto behind = blocks_.upper_bound(leads ? at->target : at->end);
    if (behind == blocks_.begin()) return false;
    const auto& [start, entry] = *std::prev(behind);
    if (start != (leads ? at->target : at->end)) return false;  // it has not run
    at = entry.block.get();
  }
  return true;
}

std::vector<std::pair<uint64_t, uint64_t>> EmulatedBlocks::FindChanged(
    const GuestMemory& memory) const {
  const std::lock_guard lock(adding_);
  std::vector<std::pair<uint64_t, uint64_t>> changed;
  std::vector<uint8_t> now;
  for (auto it = blocks_.begin(); it != blocks_.end(); ++it) {
    if (const auto next = std::next(it); next != blocks_.end() && next->first == it->first)
      continue;
    const auto& [start, entry] = *it;
    now.resize(entry.code.size());
    if (memory.Read(start, now.data(), now.size()) && now != entry.code)
      changed.emplace_back(start, start + now.size());
  }
  return changed;
}

void EmulatedBlocks::AddHandler(uint64_t address) {
  handlers_.insert(address);
  const auto [first, last] = blocks_.equal_range(address);
  for (auto it = first; it != last; ++it) it->second.block->SetMayBeHandler();
}

}  // namespace flowback::emulate
