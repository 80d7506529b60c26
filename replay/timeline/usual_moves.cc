// SPDX-License-Identifier: MIT
// Handles usual calls and returns: a thread makes millions of them.
//
// Nearly all of them come one behind the other while the thread executes, in a time that its
// account has as one span. There each of them gives a time and some instructions to the innermost
// call, and makes another call the innermost one. The others go the way of all calls.
#include <algorithm>

#include "replay/timeline/thread_timeline_builder.h"

namespace flowback {
namespace {

// A depth in which nothing ends with a call: a usual one is never the first of its stack that is
// known, nor is one that returns left by a loss or an end.
constexpr size_t kInner = 1;

}  // namespace

void ThreadTimelineBuilder::OnUsual(std::span<const UsualMove> moves, const AddressSpace* space) {
  while (!moves.empty()) {
    const size_t told = MayReportInsideSpan() ? ReportInsideSpan(moves, space) : 0;
    moves = moves.subspan(told);
    if (moves.empty()) return;
    TellMove(moves.front(), space);
    moves = moves.subspan(1);
  }
}

void ThreadTimelineBuilder::TellMove(const UsualMove& move, const AddressSpace* space) {
  if (move.enters) {
    Call call;
    call.entry = CallEntry::kCall;
    call.entry_ip = move.entry_ip;
    call.function = move.value;
    call.space = space;
    call.tsc = move.tsc;
    call.bounds = move.bounds;
    call.instructions_before = move.instructions;
    return OnEnter(call, kInner);
  }
  OnExit(kInner, {.entry = move.entry,
                  .how = CallExit::kReturn,
                  .time = {.tsc = move.tsc, .bounds = move.bounds},
                  .instructions = move.value,
                  .thread_instructions = move.instructions});
}

// Whether the time since the last entry or exit was in a span of executing that all of it was asked
// for, of a call that is known.
bool ThreadTimelineBuilder::MayReportInsideSpan() const {
  if (account_ == nullptr || cycles_.active() || plan_.options.focus) return false;
  const std::vector<ClassSpan>& spans = account_->spans->spans;
  return span_ < spans.size() && spans[span_].kind == TimeClass::kExecuting &&
         LiesIn(spans[span_], cursor_);
}

[[gnu::always_inline]] inline void ThreadTimelineBuilder::EnterInside(const UsualMove& move,
                                                                      const AddressSpace* space) {
  uint32_t function = plan_.functions.KnownNumber(move.value);
  if (function == CallPath::kNoFunction) function = AskNumber(move, space);
  const uint32_t node = on_.frames.back().node;
  Frame frame{.node = tree_.LastChild(node, function),
              .function = function,
              .depth = on_.frames.back().depth + 1,
              .focus = true,
              .partial = false,
              .has_mark = false,
              .cycles = cycles_.count(),
              .cycles_first = 0,
              .begin = cursor_};
  if (frame.node == CallTree::kNone) PutNode(node, frame);
  on_.frames.push_back(frame);
}

uint32_t ThreadTimelineBuilder::AskNumber(const UsualMove& move, const AddressSpace* space) {
  Call call;
  call.entry_ip = move.entry_ip;
  call.function = move.value;
  call.space = space;
  return plan_.functions.NumberOf(call);
}

[[gnu::always_inline]] inline void ThreadTimelineBuilder::LeaveInside(const UsualMove& move) {
  const Frame& frame = on_.frames.back();
  const uint64_t duration = cursor_.time - frame.begin.time;
  const bool whole = !frame.partial;
  CountCall(tree_.Of(frame.node), whole, duration);
  if (!kept_.LeaveOut(whole, duration)) KeepInside(frame, move);
  on_.frames.pop_back();
}

void ThreadTimelineBuilder::KeepInside(const Frame& frame, const UsualMove& move) {
  kept_.Add(Describe(frame, {.entry = move.entry,
                             .how = CallExit::kReturn,
                             .time = {},
                             .instructions = move.value,
                             .thread_instructions = move.instructions}));
}

[[gnu::always_inline]] inline void ThreadTimelineBuilder::MoveInside(const UsualMove& move,
                                                                     const AddressSpace* space) {
  if (move.enters)
    EnterInside(move, space);
  else
    LeaveInside(move);
}

// Reports the moves that lie in the account's span, and returns their number.
size_t ThreadTimelineBuilder::ReportInsideSpan(std::span<const UsualMove> moves,
                                               const AddressSpace* space) {
  const uint64_t end = std::min(account_->spans->spans[span_].end - 1, plan_.options.span.end);
  size_t told = 0;
  while (told < moves.size() && !on_.frames.empty() && moves[told].tsc != 0) {
    const UsualMove& move = moves[told];
    const TimePoint until = PointOf(move.tsc, move.bounds);
    if (until.time > end) break;
    ChargeInside(until, TimeClass::kExecuting, on_.frames.back().node);
    tree_.Of(on_.frames.back().node).instructions += move.instructions - instructions_;
    instructions_ = move.instructions;
    MoveInside(move, space);
    ++told;
    if (until.lo == bounds_point_.lo && until.hi == bounds_point_.hi)
      told += ReportUniformRun(moves.subspan(told), space, end);
    current_function_ = on_.frames.empty() ? CallPath::kNoFunction : on_.frames.back().function;
  }
  TakeTop();
  return told;
}

// The first ones of them that have the bounds of the move before, until `end` and in the same
// column of the strip. What they can say of times is that each of them may lie anywhere between the
// bounds.
size_t ThreadTimelineBuilder::ReportUniformRun(std::span<const UsualMove> moves,
                                               const AddressSpace* space, uint64_t end) {
  const uint64_t limit = std::min({end, account_->end, bounds_point_.hi, strip_.column_end()});
  const uint64_t width = bounds_point_.hi - bounds_point_.lo;
  const TscInterval bounds = bounds_;
  const TimeUnit unit = plan_.unit;
  const uint64_t begin = cursor_.time;
  const UsualMove* move = moves.data();
  const UsualMove* const behind = move + moves.size();
  for (; move != behind; ++move) {
    if (move->bounds.lo != bounds.lo || move->bounds.hi != bounds.hi || move->tsc == 0) break;
    const uint64_t time = std::max(unit.At(move->tsc), cursor_.time);
    if (time > limit || on_.frames.empty()) break;
    const Frame& top = on_.frames.back();
    const uint64_t took = time - cursor_.time;
    NodeCounts& counts = tree_.Of(top.node);
    counts.self.time += took;
    counts.self.hi += width;
    counts.instructions += move->instructions - instructions_;
    instructions_ = move->instructions;
    strip_.AddToFunction(took, top.function);
    cursor_.time = time;
    MoveInside(*move, space);
  }
  strip_.AddExecuting(cursor_.time - begin);
  return static_cast<size_t>(move - moves.data());
}

}  // namespace flowback
