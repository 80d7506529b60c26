// SPDX-License-Identifier: MIT
#include "replay/crash/history/last_calls.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

namespace flowback {
namespace {

// A call, a return or a jump that may leave calls.
struct Transfer {
  CursorInstruction instruction;
  uint64_t number = 0;
};

bool IsCall(InstructionClass kind) {
  return kind == InstructionClass::kCall || kind == InstructionClass::kIndirectCall;
}

// Whether a block run is a stub of a procedure linkage table: nothing but a jump through memory.
bool IsStub(const CursorInstruction& last, uint64_t instructions) {
  constexpr uint64_t kMost = 3;
  return last.last == InstructionClass::kIndirectJump && instructions <= kMost;
}

// The transfers that led to the cursor's place, the oldest first.
std::vector<Transfer> TransfersBefore(ThreadCursor& cursor, uint64_t most_instructions) {
  std::vector<Transfer> transfers;
  const uint64_t end = cursor.number();
  uint64_t behind_stub = 0;  // where the run after the one at hand leads to, if that is a stub
  while (cursor.Previous() && end - cursor.number() <= most_instructions) {
    if (cursor.kind() == ThreadCursor::Kind::kLoss || cursor.kind() == ThreadCursor::Kind::kUnknown)
      break;
    if (cursor.kind() != ThreadCursor::Kind::kInstruction) continue;
    CursorInstruction last = cursor.instruction();
    const uint64_t number = cursor.number();
    if (!last.first_of_run) cursor.PreviousRun();
    const bool is_call = IsCall(last.last);
    const bool may_leave = last.last == InstructionClass::kReturn ||
                           (last.last == InstructionClass::kIndirectJump && behind_stub == 0);
    if (last.last_of_run && (is_call || may_leave)) {
      if (is_call && behind_stub != 0) last.next = behind_stub;
      transfers.push_back({last, number});
    }
    behind_stub = last.last_of_run && IsStub(last, number + 1 - cursor.number()) ? last.next : 0;
  }
  std::ranges::reverse(transfers);
  return transfers;
}

class CallTree {
 public:
  CallTree(uint64_t end, FunctionFinder& functions) : end_(end), functions_(functions) {}

  void Add(const Transfer& transfer) {
    const CursorInstruction& instruction = transfer.instruction;
    if (instruction.next == 0 && instruction.last != InstructionClass::kReturn) return;
    if (IsCall(instruction.last)) return Call(transfer);
    LeaveCalls(transfer);
    if (instruction.last == InstructionClass::kReturn) Return(transfer);
  }

  std::vector<LastCall> Take(size_t most) {
    for (LastCall& call : calls_) call.depth += static_cast<unsigned>(-lowest_);
    return Shortened(most);
  }

 private:
  void Call(const Transfer& transfer) {
    const CursorInstruction& instruction = transfer.instruction;
    calls_.push_back({.number = transfer.number + 1,
                      .end_number = end_,
                      .site = instruction.address,
                      .entry = instruction.next,
                      .tsc = instruction.tsc,
                      .depth = static_cast<unsigned>(depth_),
                      .space = instruction.space});
    open_.push_back(calls_.size() - 1);
    returns_to_.push_back(instruction.address + instruction.length);
    behind_calls_.insert(returns_to_.back());
    ++depth_;
  }
  // Leaves the calls inside of the one in which the transfer goes on, where it is a leap.
  void LeaveCalls(const Transfer& transfer) {
    const CursorInstruction& instruction = transfer.instruction;
    if (open_.empty() || returns_to_[open_.back()] == instruction.next) return;
    if (!own_.Holds(instruction.address) || own_space_ != instruction.space) {
      own_ = functions_.Find(instruction.space, instruction.address);
      own_space_ = instruction.space;
    }
    if (own_.Holds(instruction.next)) return;
    const std::optional<size_t> left = CallsInside(instruction);
    for (size_t i = 0; left && i < *left; ++i) {
      LastCall& call = calls_[open_.back()];
      call.end_number = transfer.number + 1;
      call.was_left = true;
      open_.pop_back();
      --depth_;
    }
  }
  // Returns how many open calls lie inside of the one in which the leap goes on; empty: the leap
  // goes on in none of them. Looks at kMostLookedAt calls only: there may be millions, and as many
  // leaps.
  std::optional<size_t> CallsInside(const CursorInstruction& leap) {
    constexpr size_t kMostLookedAt = 4096;
    const size_t last = open_.size() - std::min(open_.size(), kMostLookedAt);
    if (leap.last == InstructionClass::kReturn) {
      for (size_t i = open_.size(); i-- > last;)
        if (returns_to_[open_[i]] == leap.next) return open_.size() - 1 - i;
      return std::nullopt;
    }
    const FunctionPiece target = functions_.Find(leap.space, leap.next);
    if (target.begin == leap.next && target.is_entry) return std::nullopt;
    if (!behind_calls_.contains(leap.next) && !functions_.IsLandingPad(leap.space, leap.next))
      return std::nullopt;
    for (size_t i = open_.size(); i-- > last;)
      if (target.Holds(calls_[open_[i]].entry)) return open_.size() - 1 - i;
    // Its call is not in the list, which begins within it.
    if (last != 0) return std::nullopt;
    const uint64_t outermost = calls_[open_.front()].site;
    return target.Holds(outermost) ? std::optional(open_.size()) : std::nullopt;
  }
  void Return(const Transfer& transfer) {
    --depth_;
    if (!open_.empty()) {
      calls_[open_.back()].end_number = transfer.number + 1;
      calls_[open_.back()].has_returned = true;
      open_.pop_back();
      return;
    }
    lowest_ = std::min(lowest_, depth_);
  }

  // Keeps all calls that have not returned, and the latest ones that have.
  std::vector<LastCall> Shortened(size_t most) const {
    std::vector<LastCall> kept;
    size_t open = open_.size();
    size_t room = most - std::min(most, open);
    for (size_t i = calls_.size(); i-- != 0;) {
      const bool is_open = calls_[i].is_open();
      if (is_open && open-- > most) continue;
      if (!is_open && room == 0) continue;
      if (!is_open) --room;
      kept.push_back(calls_[i]);
    }
    std::ranges::reverse(kept);
    return kept;
  }

  const uint64_t end_;
  FunctionFinder& functions_;
  FunctionPiece own_;  // in which a jump was last
  const AddressSpace* own_space_ = nullptr;
  std::vector<LastCall> calls_;
  std::vector<uint64_t> returns_to_;  // of each call
  std::unordered_set<uint64_t> behind_calls_;
  std::vector<size_t> open_;
  int depth_ = 0;
  int lowest_ = 0;
};

}  // namespace

std::vector<LastCall> LastCallsBefore(ThreadCursor& cursor, FunctionFinder& functions,
                                      uint64_t most_instructions, size_t most) {
  CallTree tree(cursor.number(), functions);
  for (const Transfer& transfer : TransfersBefore(cursor, most_instructions)) tree.Add(transfer);
  return tree.Take(most);
}

}  // namespace flowback
