// SPDX-License-Identifier: MIT
#include "replay/timeline/call_relay.h"

#include <utility>

namespace flowback {

CallRelay::CallRelay(FunctionFinder& finder, ThreadTeller& teller, bool beside)
    : teller_(teller), stack_(finder, *this) {
  if (!beside) return;
  pipeline_.emplace(
      2U, kInFlight, WorkOrder::kOneByOne,
      OrderedPipeline<Batch>::Steps{.work = [this](Batch& batch, size_t) { HandOn(batch); },
                                    .deliver = [](Batch&) {}});
  batch_ = pipeline_->Take();
}

void CallRelay::OnEnter(const Call& call, size_t depth) {
  if (batch_ == nullptr) return teller_.OnEnter(call, depth);
  Add(Kind::kEnter).entered.push_back({.call = call, .depth = depth});
}

void CallRelay::OnExit(const Call& call, size_t depth, CallExit how, uint64_t instructions,
                       const ExitTime& time) {
  const TellerExit exit{.entry = call.entry,
                        .how = how,
                        .time = time,
                        .instructions = instructions,
                        .thread_instructions = stack_.instructions()};
  if (batch_ == nullptr) return teller_.OnExit(depth, exit);
  Add(Kind::kExit).left.push_back({.depth = depth, .exit = exit});
}

void CallRelay::OnSwitch(uint32_t stack) {
  if (batch_ == nullptr) return teller_.OnSwitch(stack);
  Add(Kind::kSwitch).stacks.push_back(stack);
}

CallRelay::Batch& CallRelay::Add(Kind kind) {
  if (batch_->kinds.size() == kBatch) Send();
  batch_->kinds.push_back(kind);
  return *batch_;
}

void CallRelay::Send() {
  pipeline_->Add(std::move(batch_));
  batch_ = pipeline_->Take();
}

void CallRelay::Flush() {
  if (batch_ == nullptr) return;
  Send();
  pipeline_->Finish();
}

void CallRelay::HandOn(Batch& batch) const {
  const Entered* entered = batch.entered.data();
  const Left* left = batch.left.data();
  const uint32_t* stack = batch.stacks.data();
  for (const Kind kind : batch.kinds) {
    if (kind == Kind::kEnter) {
      teller_.OnEnter(entered->call, entered->depth);
      ++entered;
    } else if (kind == Kind::kExit) {
      teller_.OnExit(left->depth, left->exit);
      ++left;
    } else {
      teller_.OnSwitch(*stack++);
    }
  }
  batch.kinds.clear();
  batch.entered.clear();
  batch.left.clear();
  batch.stacks.clear();
}

}  // namespace flowback
