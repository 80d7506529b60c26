// SPDX-License-Identifier: MIT
//
// Two tellings meet here. The account of times says of what class each moment of the thread's life
// was, the flow which call the thread was in. Both come in the order of time, so one goes along the
// other:
//
//     account    |  executing   |  kernel |    executing    | off-CPU |  executing  |
//     flow         main | read                    | main  | write             | main
//     given        main | read .. read ..    read | main  | write .. write .. | main
//
// At each entry and exit the time since the last one is given to the call that was the innermost,
// span by span. Each moment is given once, for any times of the flow.
#include "replay/timeline/thread_timeline_builder.h"

#include <algorithm>
#include <utility>

namespace flowback {
namespace {

// Returns the bounds of a point that may be either of two points at one time.
TimePoint Either(const TimePoint& a, const TimePoint& b) {
  return {a.time, std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}
TimePoint Later(const TimePoint& a, const TimePoint& b) {
  return a.time == b.time ? Either(a, b) : a.time > b.time ? a : b;
}
TimePoint Earlier(const TimePoint& a, const TimePoint& b) {
  return a.time == b.time ? Either(a, b) : a.time < b.time ? a : b;
}

}  // namespace

ThreadTimelineBuilder::ThreadTimelineBuilder(const BuilderPlan& plan, const TimeAccount* account,
                                             TimeStrip strip)
    : plan_(plan),
      account_(account),
      tree_(plan.options.by_instructions || account == nullptr),
      kept_(plan.most_calls),
      strip_(std::move(strip)),
      cut_at_(plan.options.most_paths) {
  on_.root = current_ = tree_.NewRoot();
  cursor_ = TimePoint::Exact(account == nullptr ? 0 : account->begin);
}

// Not before what was before it; without a time, at once with it.
TimePoint ThreadTimelineBuilder::PointOf(uint64_t tsc, const TscInterval& bounds) {
  if (account_ == nullptr || tsc == 0) return cursor_;
  TakeBounds(bounds);
  TimePoint point{plan_.unit.At(tsc), bounds_point_.lo, bounds_point_.hi};
  point.time = std::clamp(point.time, cursor_.time, std::max(cursor_.time, account_->end));
  point.lo = std::min(point.lo, point.time);
  point.hi = std::max(point.hi, point.time);
  return point;
}

void ThreadTimelineBuilder::Charge(const TimePoint& until, uint32_t executing, uint32_t otherwise) {
  if (account_ == nullptr) return;
  const std::vector<ClassSpan>& spans = account_->spans->spans;
  if (span_ < spans.size() && LiesIn(spans[span_], until)) {
    const TimeClass kind = spans[span_].kind;
    return ChargeInside(until, kind, kind == TimeClass::kExecuting ? executing : otherwise);
  }
  for (; span_ < spans.size(); ++span_) {
    const ClassSpan& span = spans[span_];
    if (span.begin > until.time) break;
    ChargePiece(span, cursor_, until, span.kind == TimeClass::kExecuting ? executing : otherwise);
    if (span.end > until.time) break;
  }
  cursor_ = until;
}

// Neither the span's ends nor those of the times asked for lie at or between the cursor and
// `until`.
bool ThreadTimelineBuilder::LiesIn(const ClassSpan& span, const TimePoint& until) const {
  const TimeSpan& wanted = plan_.options.span;
  return cursor_.time > span.begin && until.time < span.end && cursor_.time >= wanted.begin &&
         until.time <= wanted.end;
}

// As ChargePiece. Nearly all there is to charge is so.
void ThreadTimelineBuilder::ChargeInside(const TimePoint& until, TimeClass kind, uint32_t node) {
  const uint64_t time = until.time - cursor_.time;
  NodeCounts& counts = tree_.Of(node);
  if (kind == TimeClass::kExecuting)
    counts.AddExecuting(cursor_, until);
  else
    counts.own[static_cast<size_t>(kind)] += time;
  if (time != 0) strip_.Add(cursor_.time, until.time, kind, current_function_, current_focus_);
  cursor_ = until;
}

// The part of the span that lies between the two.
void ThreadTimelineBuilder::ChargePiece(const ClassSpan& span, const TimePoint& from,
                                        const TimePoint& until, uint32_t node) {
  const TimePoint a = Later({span.begin, span.begin_lo, span.begin_hi}, from);
  const TimePoint b = Earlier({span.end, span.end_lo, span.end_hi}, until);
  const TimeSpan& wanted = plan_.options.span;
  const uint64_t begin = std::clamp(a.time, wanted.begin, wanted.end);
  const uint64_t end = std::clamp(std::max(a.time, b.time), wanted.begin, wanted.end);
  NodeCounts& counts = tree_.Of(node);
  strip_.Add(begin, end, span.kind, current_function_, current_focus_);
  if (span.kind != TimeClass::kExecuting) {
    counts.own[static_cast<size_t>(span.kind)] += end - begin;
    return;
  }
  counts.self.time += end - begin;
  if (begin != a.time || end != std::max(a.time, b.time)) {
    // A call that the requested span cuts gets only the estimate.
    counts.self.hi += end - begin;
    return;
  }
  counts.self.lo += std::min(b.lo - std::min(b.lo, a.hi), end - begin);
  counts.self.hi += std::max(b.hi - std::min(b.hi, a.lo), end - begin);
}

void ThreadTimelineBuilder::OnCycles(uint64_t behind, CycleMark mark, uint64_t tsc) {
  const bool counts = account_ == nullptr || plan_.options.span.Contains(plan_.unit.At(tsc));
  cycles_.Note(behind, mark, counts);
}

// Execution in a call that has not come yet waits for it.
void ThreadTimelineBuilder::OnProgress(const BuilderProgress& progress) {
  const bool all_told = progress.calls <= on_.frames.size();
  cycles_.Give(all_told ? progress.instructions : progress.innermost_at, current_, current_depth_);
  NoteFirstMark();
}

// The calls that have begun since the mark before.
void ThreadTimelineBuilder::NoteFirstMark() {
  if (!cycles_.first_told()) return;
  for (auto frame = on_.frames.rbegin(); frame != on_.frames.rend() && !frame->has_mark; ++frame) {
    frame->has_mark = true;
    frame->cycles_first = *cycles_.first_told();
  }
}

// Counts the cycles of a call that is not too short: from the last mark ahead of its begin to the
// last one ahead of its end. That is as much too long at the one as it is too short at the other.
void ThreadTimelineBuilder::TellCycles(const Frame& frame, TimelineCall& call) const {
  const CycleShares::Count& now = cycles_.count();
  if (!frame.has_mark || frame.partial || frame.cycles.gaps != now.gaps) return;
  call.cycles = now.told - frame.cycles.told;
  call.cycles_lo = now.told - frame.cycles_first;
}

void ThreadTimelineBuilder::ChargeInstructions(uint64_t until, uint32_t node) {
  if (cycles_.active()) {
    cycles_.Give(until, node, current_depth_);
    NoteFirstMark();
  }
  if (until <= instructions_) return;
  if (plan_.options.span.Contains(cursor_.time) || account_ == nullptr)
    tree_.Of(node).instructions += until - instructions_;
  instructions_ = until;
}

bool ThreadTimelineBuilder::InSpan(const TimePoint& begin, const TimePoint& end) const {
  return end.time >= plan_.options.span.begin && begin.time <= plan_.options.span.end;
}

ThreadTimelineBuilder::Frame ThreadTimelineBuilder::FrameOf(const Call& call) {
  const bool outermost = on_.frames.empty();
  Frame frame;
  frame.function = plan_.functions.NumberOf(call);
  frame.begin = cursor_;
  frame.cycles = cycles_.count();
  frame.partial = call.entry == CallEntry::kRunning || call.entry == CallEntry::kReturnedTo;
  const auto& focus = plan_.options.focus;
  const bool in_focus = !outermost && on_.frames.back().focus;
  frame.focus = !focus || in_focus || focus(call.space, call.entry_ip);
  frame.depth = in_focus || (!focus && !outermost) ? on_.frames.back().depth + 1 : 0;
  const uint32_t above = Top();
  if (!frame.focus) {
    frame.node = above;
    return frame;
  }
  PutNode(above, frame);
  return frame;
}

void ThreadTimelineBuilder::PutNode(uint32_t above, Frame& frame) {
  frame.node = tree_.LastChild(above, frame.function);
  if (frame.node != CallTree::kNone) return;
  if (tree_.size() >= cut_at_) CutTree();
  frame.node = tree_.Child(above, frame.function);
}

// Cuts the tree to half of what it may have, but leaves the calls that the thread is in, on each of
// its stacks. Where these are more, the tree grows to twice their number before it is cut again, so
// that each call pays for no more than a few nodes.
void ThreadTimelineBuilder::CutTree() {
  std::vector<uint32_t> open;
  for (const Frame& frame : on_.frames) open.push_back(frame.node);
  for (const auto& [number, parked] : parked_)
    for (const Frame& frame : parked.frames) open.push_back(frame.node);
  cycles_.AddNodes(open);
  tree_.Cut(plan_.options.most_paths / 2, UINT32_MAX, open);
  cut_at_ = std::max(plan_.options.most_paths, 2 * tree_.size());
}

void ThreadTimelineBuilder::OnEnter(const Call& call, size_t depth) {
  const TimePoint at = PointOf(call.tsc, call.bounds);
  const bool outer = depth == 0 && call.entry == CallEntry::kReturnedTo && call.resume == 0;
  if (outer && !plan_.options.focus) return EnterAround(call, at);
  // What executes before the first call is known to have begun is that call's.
  const bool first = depth == 0 && current_ == on_.root;
  if (first) {
    on_.frames.push_back(FrameOf(call));
    TakeTop();
  }
  Charge(at, current_, first ? on_.root : current_);
  ChargeInstructions(call.instructions_before, current_);
  if (!first) on_.frames.push_back(FrameOf(call));
  TakeTop();
}

// All calls of the stack so far were made in this one.
void ThreadTimelineBuilder::EnterAround(const Call& call, const TimePoint& at) {
  Charge(at, current_, current_);
  ChargeInstructions(call.instructions_before, current_);
  const uint32_t function = plan_.functions.NumberOf(call);
  const uint32_t inner = on_.root;
  on_.root = tree_.PutUnder(inner, function);
  kept_.MoveIn();
  cycles_.MoveIn();
  on_.frames.push_back({.node = inner,
                        .function = function,
                        .focus = true,
                        .partial = true,
                        .cycles = {},
                        .begin = cursor_});
  TakeTop();
}

// From now on the time is the innermost call's.
void ThreadTimelineBuilder::TakeTop() {
  const bool none = on_.frames.empty();
  current_ = Top();
  current_depth_ = on_.frames.size();
  if (none) cycles_.Pass(current_, 0);
  current_function_ = none ? CallPath::kNoFunction : on_.frames.back().function;
  current_focus_ = !none && plan_.options.focus && on_.frames.back().focus;
}

void ThreadTimelineBuilder::OnExit(size_t depth, const BuilderExit& exit) {
  const CallExit how = exit.how;
  ChargeEnd();
  Charge(PointOf(exit.time.tsc, exit.time.bounds), current_, current_);
  ChargeInstructions(exit.thread_instructions, current_);
  if (on_.frames.empty()) return;
  const Frame frame = on_.frames.back();
  on_.frames.pop_back();
  if (frame.focus && InSpan(frame.begin, cursor_)) {
    const bool ended =
        how == CallExit::kReturn || how == CallExit::kTailCall || how == CallExit::kUnwound;
    const bool whole = ended && !frame.partial;
    const uint64_t duration = cursor_.time - frame.begin.time;
    CountCall(tree_.Of(frame.node), whole, duration);
    if (const bool last = how == CallExit::kEnd && on_.frames.size() + 1 == long_open_ && !last_;
        last || !kept_.LeaveOut(whole, duration)) {
      const TimelineCall told = Describe(frame, exit);
      kept_.Add(told);
      if (last) last_ = told;
    }
  }
  TakeTop();
  const bool over = how == CallExit::kLost || how == CallExit::kReplaced || how == CallExit::kEnd ||
                    how == CallExit::kPaused;
  if (depth == 0 && over) EndSegment();
}

// The time between is the system call's, but for what executed in it, which is a rest of the code
// around the call. Its instruction is the caller's.
void ThreadTimelineBuilder::OnSystemCall(const BuilderSystemCall& call) {
  const UntracedGap& gap = call.gap;
  Charge(PointOf(gap.begin_tsc, gap.begin_bounds), current_, current_);
  ChargeInstructions(call.thread_instructions, current_);
  if (on_.frames.empty() || !on_.frames.back().focus) return;
  Frame frame;
  frame.function = plan_.functions.NumberOfSystemCall(gap);
  frame.depth = on_.frames.back().depth + 1;
  frame.begin = cursor_;
  PutNode(Top(), frame);
  Charge(EndOf(call), current_, frame.node);
  if (!InSpan(frame.begin, cursor_)) return;
  const uint64_t duration = cursor_.time - frame.begin.time;
  CountCall(tree_.Of(frame.node), gap.came_back, duration);
  const CallExit how = gap.came_back ? CallExit::kReturn : CallExit::kEnd;
  kept_.AddSystemCall(Describe(frame, {.entry = CallEntry::kCall, .how = how, .time = {}}));
}

// Where the thread did not come back, the call goes on to the end of its life; behind a loss it is
// not known how long it took.
TimePoint ThreadTimelineBuilder::EndOf(const BuilderSystemCall& call) {
  if (call.gap.came_back) return PointOf(call.gap.end_tsc, call.end_bounds);
  if (!is_ending_ || account_ == nullptr) return cursor_;
  is_ending_ = false;
  return TimePoint::Exact(account_->end);
}

TimelineCall ThreadTimelineBuilder::Describe(const Frame& frame, const BuilderExit& exit) const {
  TimelineCall call{.begin = frame.begin.time,
                    .begin_lo = frame.begin.lo,
                    .begin_hi = frame.begin.hi,
                    .end = cursor_.time,
                    .end_lo = cursor_.lo,
                    .end_hi = cursor_.hi,
                    .instructions = exit.instructions,
                    .function = frame.function,
                    .depth = frame.depth,
                    .stack = number_,
                    .entry = exit.entry,
                    .exit = exit.how};
  TellCycles(frame, call);
  return call;
}

// No caller of what was so far is found any more.
void ThreadTimelineBuilder::EndSegment() {
  cycles_.Switch();
  tree_.Merge(on_.root, 0, cycles_.follows());
  on_.root = current_ = tree_.NewRoot();
  kept_.EndSegment();
}

void ThreadTimelineBuilder::OnSwitch(uint32_t stack, uint64_t instructions) {
  ChargeEnd();
  const bool over = on_.frames.empty() && number_ != 0;
  const bool was_its = current_ == on_.root;
  if (cycles_.active()) cycles_.Give(instructions, current_, current_depth_);
  NoteFirstMark();
  cycles_.Switch();
  if (over)
    tree_.Merge(on_.root, 0, cycles_.follows());
  else
    parked_[number_] = std::move(on_);
  if (const auto found = parked_.find(stack); found != parked_.end()) {
    on_ = std::move(found->second);
    parked_.erase(found);
  } else {
    on_ = {.root = tree_.NewRoot(), .frames = {}};
  }
  number_ = stack;
  if (over && was_its) TakeTop();
}

// Returns how many of the current calls, from the outermost, were open for half of the account or
// more. The innermost of these is ThreadTimeline::last.
size_t ThreadTimelineBuilder::LongOpen() const {
  if (account_ == nullptr || plan_.options.span.end < account_->end) return 0;
  const uint64_t begin = std::max(account_->begin, plan_.options.span.begin);
  const uint64_t half = (account_->end - std::min(begin, account_->end)) / 2;
  size_t open = on_.frames.size();
  while (open != 0 && account_->end - std::max(on_.frames[open - 1].begin.time, begin) < half)
    --open;
  return open;
}

void ThreadTimelineBuilder::EndLife() {
  long_open_ = LongOpen();
  is_ending_ = true;
}

void ThreadTimelineBuilder::ChargeEnd() {
  if (!is_ending_) return;
  is_ending_ = false;
  if (account_ != nullptr) Charge(TimePoint::Exact(account_->end), current_, current_);
}

void ThreadTimelineBuilder::Finish(ThreadTimeline& thread) {
  ChargeEnd();
  tree_.Merge(on_.root, 0);
  for (auto& [number, parked] : parked_) tree_.Merge(parked.root, 0);
  kept_.Take(thread);
  thread.last = last_;
  thread.cycles = cycles_.totals();
  thread.strip = strip_.Take();
}

}  // namespace flowback
