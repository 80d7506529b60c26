// SPDX-License-Identifier: MIT
// Follows a flow, and returns its changes of the call stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "decode/call_change.h"
#include "flowback/model/block_batch.h"
#include "flowback/model/execution.h"

namespace flowback {

class CallTracker {
 public:
  // `judge` must outlive it.
  explicit CallTracker(CallJudge& judge) : judge_(&judge) {}

  // A whole block that led to `next`.
  void Step(const BlockTable& table, BlockStep step, uint64_t next) {
    Step(table, step, next, judge_->Of(table, step, next));
  }
  // Takes whole blocks, one after the other; the last one led to `next`.
  void Steps(const BlockTable& table, std::span<const BlockStep> steps, uint64_t next) {
    std::span<const StepMeaning> known = judge_->Known(table);
    for (size_t i = PassStays(known, steps, 0); i < steps.size();
         i = PassStays(known, steps, i + 1)) {
      const BlockStep step = steps[i];
      const uint64_t to = i + 1 == steps.size() ? next : table[steps[i + 1].number()].address;
      StepMeaning meaning = known.empty() ? StepMeaning::kUnknown : known[step.value];
      if (meaning == StepMeaning::kUnknown) {
        meaning = judge_->Of(table, step, to);
        known = judge_->Known(table);
      }
      Step(table, step, to, meaning);
    }
  }
  void Steps(const BlockBatch& batch) { Steps(*batch.table, batch.steps, batch.next); }
  // A block that was left in its middle, or at whose end the flow stops.
  void Part(const BlockRun& run) {
    before_stub_ = false;
    if (!judge_->IsUsual(run)) change_.usual = false;
  }
  // The flow stops behind a block, in code that is not traced. It is usual where the flow goes on
  // behind its last instruction.
  void Stop(InstructionClass last, uint64_t after) {
    before_stub_ = false;
    const bool comes_back = last == InstructionClass::kFarCall || last == InstructionClass::kCall ||
                            last == InstructionClass::kIndirectCall;
    change_.usual = change_.usual && comes_back;
    goes_on_at_ = after;
  }
  void OnEvent(const TraceEvent& event) {
    switch (event.kind) {
      case EventKind::kStoppedAsync:
        goes_on_at_ = event.ip;
        return;
      case EventKind::kStarted:
        if (goes_on_at_ != 0) change_.usual = change_.usual && event.ip == goes_on_at_;
        goes_on_at_ = 0;
        return;
      case EventKind::kInterrupted:
      case EventKind::kTransactionAbort:
      case EventKind::kOverflow:
        change_.usual = false;
        return;
      default:
        return;
    }
  }
  void Append(const CallChange& next) {
    before_stub_ = false;
    change_.Append(next);
  }
  // As `table` keeps what one of its paths does.
  template <class Table, class OfPath>
  [[gnu::always_inline]] void Append(const Table& table, OfPath calls) {
    before_stub_ = false;
    table.AppendTo(change_, calls);
  }
  void NoteUnusual() { change_.usual = false; }
  const CallChange& change() const { return change_; }
  // The flow has stopped, and not gone on.
  bool stopped() const { return goes_on_at_ != 0; }
  // Returns the change since the last call, and begins anew.
  CallChange Take() {
    before_stub_ = false;
    goes_on_at_ = 0;
    return std::exchange(change_, {});
  }

 private:
  // Returns the first step from `begin` on that is not known to stay in its call.
  size_t PassStays(std::span<const StepMeaning> known, std::span<const BlockStep> steps,
                   size_t begin) {
    constexpr size_t kTogether = 4;
    constexpr auto kStays = static_cast<unsigned>(StepMeaning::kStays);
    if (known.empty()) return begin;
    const auto bits_of = [&](size_t i) { return static_cast<unsigned>(known[steps[i].value]); };
    size_t at = begin;
    while (at + kTogether <= steps.size() &&
           (bits_of(at) & bits_of(at + 1) & bits_of(at + 2) & bits_of(at + 3) & kStays) != 0)
      at += kTogether;
    while (at < steps.size() && bits_of(at) == kStays) ++at;
    if (at != begin) before_stub_ = false;
    return at;
  }
  void Step(const BlockTable& table, BlockStep step, uint64_t next, StepMeaning meaning) {
    const bool before_stub = std::exchange(before_stub_, false);
    switch (meaning) {
      case StepMeaning::kStays:
        return;
      case StepMeaning::kCalls: {
        const CodeBlock& block = table[step.number()];
        before_stub_ = true;
        return change_.Call(block.address + block.size);
      }
      case StepMeaning::kReturns:
        return change_.Return(next);
      case StepMeaning::kReplaces:
        return change_.Replace();
      case StepMeaning::kReplacesByStub:
        before_stub_ = true;
        return change_.Replace();
      case StepMeaning::kLeadsOn:
        change_.usual = change_.usual && before_stub;
        return;
      case StepMeaning::kUnknown:
      case StepMeaning::kUnusual:
        change_.usual = false;
        return;
    }
  }

  CallJudge* judge_;
  CallChange change_;
  bool before_stub_ = false;  // the step before may have led to a stub
  uint64_t goes_on_at_ = 0;   // address; 0: the flow has not stopped
};

}  // namespace flowback
