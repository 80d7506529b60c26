// SPDX-License-Identifier: MIT
#include "replay/coverage/static_code_builder.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "decode/instruction/classify.h"
#include "replay/coverage/jump_tables.h"
#include "replay/coverage/padding.h"
#include "replay/symbols/elf/split_names.h"

namespace flowback {
namespace {

constexpr uint32_t kLeftOut = ~uint32_t{0};

}  // namespace

StaticCodeBuilder::StaticCodeBuilder(const ObjectImage& image, CodeOutline outline)
    : outline_(std::move(outline)), flow_(image, outline_) {}

StaticCode StaticCodeBuilder::Build(std::span<const uint64_t> executed) {
  executed_ = executed;
  for (const uint64_t entry : outline_.entries) flow_.Follow(entry);
  FollowTables();
  for (const uint64_t address : executed)
    if (!flow_.IsInstruction(address)) flow_.Follow(address);
  FollowTables();
  std::vector<uint32_t> numbers;  // of the outline's functions, in the code
  for (StaticFunction& function : outline_.functions) {
    const size_t before = code_.functions_.size();
    AddFunction(std::move(function));
    numbers.push_back(code_.functions_.size() == before ? kLeftOut : static_cast<uint32_t>(before));
  }
  FindWholes(numbers);
  return std::move(code_);
}

// The targets of a table may have further tables, and show more ways to those that were not
// understood.
void StaticCodeBuilder::FollowTables() {
  constexpr unsigned kMostRounds = 10;
  bool found = true;
  for (unsigned round = 0; found && round < kMostRounds; ++round) {
    found = false;
    JumpTables tables(flow_, outline_);
    unresolved_.clear();
    for (const uint64_t jump : std::vector(flow_.indirect_jumps())) {
      if (resolved_.contains(jump) || tables.IsThroughPointer(jump)) continue;
      const std::vector<uint64_t> targets = tables.TargetsOf(jump);
      if (targets.empty()) {
        unresolved_.push_back(jump);
        continue;
      }
      found = true;
      resolved_.insert(jump);
      for (const uint64_t target : targets) {
        flow_.AddJump({target, jump});
        flow_.Follow(target);
      }
    }
  }
  std::ranges::sort(unresolved_);
}

void StaticCodeBuilder::AddFunction(StaticFunction function) {
  const size_t first = code_.instructions_.size();
  function.first_block = static_cast<uint32_t>(code_.blocks_.size());
  AddInstructions(function);
  CountRest(function, first);
  const bool is_rest = function.source == StaticFunction::Source::kWholeSection ||
                       function.begin != outline_.functions[function.whole].begin;
  if (is_rest && function.uncertain_bytes == 0 && first == code_.instructions_.size()) return;
  AddBlocks(first);
  function.block_count = static_cast<uint32_t>(code_.blocks_.size()) - function.first_block;
  const auto jumps = std::ranges::lower_bound(unresolved_, function.begin);
  function.unresolved_jumps =
      static_cast<uint32_t>(std::ranges::lower_bound(unresolved_, function.end) - jumps);
  code_.functions_.push_back(std::move(function));
}

void StaticCodeBuilder::AddInstructions(const StaticFunction& function) {
  const Bytes bytes = Slice(flow_.CodeAt(function.begin), 0, function.end - function.begin);
  uint64_t left_out = 0;  // up to here
  for (size_t at = 0; at < bytes.size(); ++at) {
    const uint64_t address = function.begin + at;
    if (address < left_out) continue;
    StaticInstruction instruction{.address = address, .length = flow_.LengthAt(address)};
    if (instruction.length == 0) continue;
    instruction.kind = flow_.KindAt(address);
    Instruction whole;
    if (IsDirect(instruction.kind) && Classify(flow_.CodeAt(address), flow_.mode(), whole))
      instruction.target = whole.Target(address);
    code_.instructions_.push_back(instruction);
    if (instruction.kind == InstructionClass::kCall ||
        instruction.kind == InstructionClass::kIndirectCall)
      left_out = PaddingBehind(instruction, function.end);
  }
}

bool StaticCodeBuilder::HasExecuted(uint64_t address) const {
  return std::ranges::binary_search(executed_, address);
}

// Only executed flow shows whether a call comes back. Alignment after a call that ran and never
// came back, before code with other ways to it, is no code. Returns where that alignment ends; 0:
// no alignment follows.
uint64_t StaticCodeBuilder::PaddingBehind(const StaticInstruction& call, uint64_t end) const {
  const uint64_t begin = call.address + call.length;
  uint64_t at = begin;
  if (!HasExecuted(call.address)) return 0;
  while (at < end && !flow_.IsLeader(at) && !HasExecuted(at)) {
    const size_t size = PaddingInstruction(flow_.CodeAt(at), flow_.mode());
    if (size == 0 || size != flow_.LengthAt(at)) return 0;
    at += size;
  }
  return at > begin && at < end && flow_.IsLeader(at) ? at : 0;
}

// An instruction that others overlap is followed by one that is not the next in the list: control
// comes to that from two sides.
void StaticCodeBuilder::AddBlocks(size_t first) {
  const std::span<const StaticInstruction> all(code_.instructions_);
  for (size_t i = first; i + 1 < all.size(); ++i)
    if (const uint64_t end = all[i].address + all[i].length; all[i + 1].address < end)
      flow_.MakeLeader(end);
  for (size_t i = first; i < all.size(); ++i) {
    const StaticInstruction& each = all[i];
    const bool begins = i == first || all[i - 1].kind != InstructionClass::kOther ||
                        all[i - 1].address + all[i - 1].length != each.address ||
                        flow_.IsLeader(each.address);
    if (begins)
      code_.blocks_.push_back({.begin = each.address,
                               .first = static_cast<uint32_t>(i),
                               .function = static_cast<uint32_t>(code_.functions_.size())});
    StaticCodeBlock& block = code_.blocks_.back();
    block.end = each.address + each.length;
    ++block.count;
  }
}

void StaticCodeBuilder::CountRest(StaticFunction& function, size_t first) const {
  uint64_t place = function.begin;
  for (size_t i = first; i < code_.instructions_.size(); ++i) {
    const StaticInstruction& each = code_.instructions_[i];
    if (each.address > place) CountUnreached(function, place, each.address);
    const uint64_t end = std::min(each.address + each.length, function.end);
    function.code_bytes += end - std::min(end, std::max(place, each.address));
    place = std::max(place, end);
  }
  if (place < function.end) CountUnreached(function, place, function.end);
}

void StaticCodeBuilder::CountUnreached(StaticFunction& function, uint64_t begin,
                                       uint64_t end) const {
  const Bytes bytes = Slice(flow_.CodeAt(begin), 0, end - begin);
  const size_t padding = PaddingLength(bytes, flow_.mode());
  function.left_out_bytes += padding;
  function.uncertain_bytes += bytes.size() - padding;
}

// If several functions have one name, as static ones of different files, a part belongs to the one
// that jumps to it.
void StaticCodeBuilder::FindWholes(const std::vector<uint32_t>& numbers) {
  std::vector<StaticFunction>& functions = code_.functions_;
  for (uint32_t i = 0; i < functions.size(); ++i) {
    const uint32_t number = numbers[functions[i].whole];
    functions[i].whole = number == kLeftOut ? i : number;
  }
  std::vector<CodeFlow::Jump> jumps = flow_.jumps();
  std::ranges::sort(jumps);
  for (StaticFunction& part : functions) {
    const std::string_view name = symbols::MovedFrom(part.linkage_name);
    if (name.empty()) continue;
    auto jump = std::ranges::lower_bound(jumps, part.begin, {}, &CodeFlow::Jump::target);
    for (; jump != jumps.end() && jump->target < part.end; ++jump) {
      const StaticFunction* source = code_.FunctionAt(jump->source);
      if (source == nullptr || source->linkage_name != name) continue;
      part.whole = source->whole;
      break;
    }
  }
}

}  // namespace flowback
