// SPDX-License-Identifier: MIT
#include "replay/timeline/call_relay.h"

#include <utility>

namespace flowback {

CallRelay::CallRelay(FunctionFinder& finder, ThreadTimelineBuilder& teller, bool beside)
    : teller_(teller), stack_(finder, *this) {
  if (!beside) return;
  pipeline_.emplace(
      2U, kInFlight, WorkOrder::kOneByOne,
      OrderedPipeline<Batch>::Steps{.work = [this](Batch& batch, size_t) { HandOn(batch); },
                                    .deliver = [](Batch&) {}});
  batch_ = pipeline_->Take();
}

void CallRelay::OnBlock(const BlockRun& run) {
  if (run.cycles.any()) AddCycles(stack_.instructions() + run.lengths.size(), run.cycles, run.tsc);
  stack_.OnBlock(run);
  TellProgress();
}

void CallRelay::OnBlocks(const BlockBatch& batch) {
  const uint64_t before = stack_.instructions();
  for (const TimedPart& part : batch.times)
    if (part.cycles.any()) AddCycles(before + part.end, part.cycles, part.LastAt(part.end));
  stack_.OnBlocks(batch);
  TellProgress();
}

void CallRelay::OnEvent(const TraceEvent& event) {
  if (event.cycles.any()) AddCycles(stack_.instructions(), event.cycles, event.tsc);
  if (event.kind == EventKind::kStarted) started_ = event.bounds;
  stack_.OnEvent(event);
}

void CallRelay::OnLoss(const DataLoss& loss) {
  stack_.OnLoss(loss);
  if (batch_ == nullptr) return teller_.OnLost();
  Add(Kind::kLost);
}

void CallRelay::AddCycles(uint64_t behind, CycleMark mark, uint64_t tsc) {
  ++marks_;
  if (batch_ == nullptr) return teller_.OnCycles(behind, mark, tsc);
  Add(Kind::kCycles).cycles.push_back({.behind = behind, .mark = mark, .tsc = tsc});
}

// Where no call begins or ends for long.
void CallRelay::TellProgress() {
  if (marks_ < kManyMarks) return;
  marks_ = 0;
  const std::vector<Call>& calls = stack_.calls();
  const BuilderProgress progress{
      .instructions = stack_.instructions(),
      .calls = calls.size(),
      .innermost_at = calls.empty() ? 0 : calls.back().instructions_before};
  if (batch_ == nullptr) return teller_.OnProgress(progress);
  Add(Kind::kProgress).progress.push_back(progress);
}

void CallRelay::OnUsual(std::span<const UsualMove> moves, const AddressSpace* space) {
  if (batch_ == nullptr) return teller_.OnUsual(moves, space);
  Batch& batch = Add(Kind::kUsual);
  batch.usual.push_back({.count = moves.size(), .space = space});
  batch.moves.insert(batch.moves.end(), moves.begin(), moves.end());
  if (batch.moves.size() >= kMoves) Send();
}

void CallRelay::OnEnter(const Call& call, size_t depth) {
  if (batch_ == nullptr) return teller_.OnEnter(call, depth);
  Add(Kind::kEnter).entered.push_back({.call = call, .depth = depth});
}

void CallRelay::OnExit(const Call& call, size_t depth, CallExit how, uint64_t instructions,
                       const ExitTime& time) {
  const BuilderExit exit{.entry = call.entry,
                         .how = how,
                         .time = time,
                         .instructions = instructions,
                         .thread_instructions = stack_.instructions()};
  if (batch_ == nullptr) return teller_.OnExit(depth, exit);
  Add(Kind::kExit).left.push_back({.depth = depth, .exit = exit});
}

void CallRelay::OnGap(const UntracedGap& gap, size_t /*depth*/) {
  if (gap.cause != UntracedGap::Cause::kSystemCall) return;
  const BuilderSystemCall call{
      .gap = gap, .end_bounds = started_, .thread_instructions = stack_.instructions()};
  if (batch_ == nullptr) return teller_.OnSystemCall(call);
  Add(Kind::kSystemCall).system_calls.push_back(call);
}

void CallRelay::OnSwitch(uint32_t stack) {
  if (batch_ == nullptr) return teller_.OnSwitch(stack, stack_.instructions());
  Add(Kind::kSwitch).switched.push_back({.stack = stack, .instructions = stack_.instructions()});
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
  const Usual* usual = batch.usual.data();
  const UsualMove* moves = batch.moves.data();
  const Entered* entered = batch.entered.data();
  const Left* left = batch.left.data();
  const BuilderSystemCall* system_call = batch.system_calls.data();
  const Switched* switched = batch.switched.data();
  const Cycles* cycles = batch.cycles.data();
  const BuilderProgress* progress = batch.progress.data();
  for (const Kind kind : batch.kinds) {
    switch (kind) {
      case Kind::kUsual:
        teller_.OnUsual({moves, usual->count}, usual->space);
        moves += usual->count;
        ++usual;
        break;
      case Kind::kEnter:
        teller_.OnEnter(entered->call, entered->depth);
        ++entered;
        break;
      case Kind::kExit:
        teller_.OnExit(left->depth, left->exit);
        ++left;
        break;
      case Kind::kSystemCall:
        teller_.OnSystemCall(*system_call++);
        break;
      case Kind::kSwitch:
        teller_.OnSwitch(switched->stack, switched->instructions);
        ++switched;
        break;
      case Kind::kCycles:
        teller_.OnCycles(cycles->behind, cycles->mark, cycles->tsc);
        ++cycles;
        break;
      case Kind::kProgress:
        teller_.OnProgress(*progress++);
        break;
      case Kind::kLost:
        teller_.OnLost();
        break;
    }
  }
  batch.Clear();
}

}  // namespace flowback
