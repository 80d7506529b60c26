// SPDX-License-Identifier: MIT
#include "replay/crash/last_calls.h"

#include <algorithm>
#include <utility>

namespace flowback {
namespace {

// A call or return.
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

// The calls and returns that led to the cursor's place, the oldest first.
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
    if (last.last_of_run && (is_call || last.last == InstructionClass::kReturn)) {
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
  explicit CallTree(uint64_t end) : end_(end) {}

  void Add(const Transfer& transfer) {
    const CursorInstruction& instruction = transfer.instruction;
    if (instruction.last == InstructionClass::kReturn)
      Return(transfer);
    else if (instruction.next != 0)
      Call(transfer);
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
    ++depth_;
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

  // Of the calls that have returned, those that began last; all that have not.
  std::vector<LastCall> Shortened(size_t most) const {
    std::vector<LastCall> kept;
    size_t open = open_.size();
    size_t room = most - std::min(most, open);
    for (size_t i = calls_.size(); i-- != 0;) {
      const bool is_open = !calls_[i].has_returned;
      if (is_open && open-- > most) continue;
      if (!is_open && room == 0) continue;
      if (!is_open) --room;
      kept.push_back(calls_[i]);
    }
    std::ranges::reverse(kept);
    return kept;
  }

  const uint64_t end_;
  std::vector<LastCall> calls_;
  std::vector<size_t> open_;
  int depth_ = 0;
  int lowest_ = 0;
};

}  // namespace

std::vector<LastCall> LastCallsBefore(ThreadCursor& cursor, uint64_t most_instructions,
                                      size_t most) {
  CallTree tree(cursor.number());
  for (const Transfer& transfer : TransfersBefore(cursor, most_instructions)) tree.Add(transfer);
  return tree.Take(most);
}

}  // namespace flowback
