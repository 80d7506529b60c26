// SPDX-License-Identifier: MIT
#include "replay/calls/function_entries.h"

#include <algorithm>
#include <array>
#include <optional>

#include "decode/instruction/classify.h"

namespace flowback {
namespace {

bool IsDirectJump(InstructionClass kind) {
  return kind == InstructionClass::kJump || kind == InstructionClass::kConditional;
}

std::optional<Instruction> InstructionAt(const AddressSpace* space, uint64_t address,
                                         CodeMode mode) {
  std::array<uint8_t, kLongestInstruction> bytes{};
  const size_t size = space == nullptr ? 0 : space->Read(address, bytes.data(), bytes.size());
  Instruction instruction;
  if (size == 0 || !Classify(Bytes(bytes).first(size), mode, instruction)) return std::nullopt;
  return instruction;
}

}  // namespace

void FunctionEntries::Add(const BlockCounts& counts) {
  const AddressSpace* const space = counts.space;
  for (const BlockUse& use : counts.uses) {
    begun_[{space, use.block.address}] += use.times;
    if (use.count != use.block.count) continue;
    const bool goes_straight =
        use.exit == BlockExit::kFallThrough || use.exit == BlockExit::kNotTaken;
    if (goes_straight) straight_[{space, use.block.address + use.block.size}] += use.times;
    if (use.exit != BlockExit::kTaken || !IsDirectJump(use.block.last)) continue;
    Branch& jump = jumps_[{space, use.block.LastAddress()}];
    jump.mode = counts.mode;
    jump.times += use.times;
  }
  for (const BlockTarget& target : counts.targets) {
    const Edge edge{space, target.branch, target.target};
    if (target.kind == InstructionClass::kIndirectJump) {
      indirect_[edge] += target.times;
      continue;
    }
    Branch& call = calls_[edge];
    call.mode = counts.mode;
    call.times += target.times;
  }
}

bool FunctionEntries::IsEntry(const Place& place) {
  const FunctionPiece piece = finder_.Find(place.first, place.second);
  return piece.id != 0 && piece.is_entry && piece.begin == place.second;
}

// Jumps to the begin of the function that they are in.
void FunctionEntries::LeaveOutLoops(std::map<Place, EntryCount>& entries) {
  const auto leave_out = [&](const AddressSpace* space, uint64_t from, uint64_t to,
                             uint64_t times) {
    const auto entry = entries.find({space, to});
    if (entry == entries.end()) return;
    if (finder_.Find(space, from).id != finder_.Find(space, to).id) return;
    entry->second.calls -= std::min(entry->second.calls, times);
  };
  for (const auto& [place, jump] : jumps_)
    if (const auto at = InstructionAt(place.first, place.second, jump.mode))
      leave_out(place.first, place.second, at->Target(place.second), jump.times);
  for (const auto& [edge, times] : indirect_)
    leave_out(edge.space, edge.branch, edge.target, times);
}

// A call may lead elsewhere than to the begin of a function that is known. One that leads to what
// follows it reads its own address.
void FunctionEntries::AddCalls(std::map<Place, EntryCount>& entries) {
  for (const auto& [edge, call] : calls_) {
    EntryCount& entry = entries[{edge.space, edge.target}];
    entry.call_instructions += call.times;
    if (IsEntry({edge.space, edge.target})) continue;
    const auto at = InstructionAt(edge.space, edge.branch, call.mode);
    if (!at || edge.branch + at->length != edge.target) entry.calls += call.times;
  }
}

std::map<FunctionEntries::Place, EntryCount> FunctionEntries::Take() {
  std::map<Place, EntryCount> entries;
  for (const auto& [place, times] : begun_) {
    if (!IsEntry(place)) continue;
    const auto straight = straight_.find(place);
    const uint64_t came_straight = straight == straight_.end() ? 0 : straight->second;
    entries[place].calls = times - std::min(times, came_straight);
  }
  LeaveOutLoops(entries);
  AddCalls(entries);
  begun_.clear();
  straight_.clear();
  jumps_.clear();
  indirect_.clear();
  calls_.clear();
  return entries;
}

}  // namespace flowback
