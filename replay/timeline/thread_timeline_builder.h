// SPDX-License-Identifier: MIT
// One thread's flow becomes its timeline.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "flowback/replay/call_stack.h"
#include "flowback/replay/timeline.h"
#include "replay/threads/stream_times.h"
#include "replay/timeline/call_tree.h"
#include "replay/timeline/cycle_shares.h"
#include "replay/timeline/function_table.h"
#include "replay/timeline/kept_calls.h"
#include "replay/timeline/time_strip.h"

namespace flowback {

// Data that the threads' tellers share.
struct BuilderPlan {
  TimeUnit unit;
  const TimelineOptions& options;
  FunctionTable& functions;
  size_t most_calls = 0;
};

// How a call ended.
struct BuilderExit {
  CallEntry entry{};
  CallExit how{};
  ExitTime time;
  uint64_t instructions = 0;         // since its entry, of what it called too
  uint64_t thread_instructions = 0;  // of the thread, until then
};

// A system call, from which the flow came back or in which it ended.
struct BuilderSystemCall {
  UntracedGap gap;
  TscInterval end_bounds;            // of gap.end_tsc
  uint64_t thread_instructions = 0;  // of the thread, until then
};

// Where the thread is.
struct BuilderProgress {
  uint64_t instructions = 0;  // executed until now
  size_t calls = 0;           // open now
  uint64_t innermost_at = 0;  // executed before the innermost of these began
};

// Hears of calls as a CallListener does.
class ThreadTimelineBuilder {
 public:
  // `account`: the thread's; null: nothing is known of its time. `strip`: of the whole timeline.
  ThreadTimelineBuilder(const BuilderPlan& plan, const TimeAccount* account, TimeStrip strip);

  // Passes the cycles up to the thread's first `behind` instructions. Ahead of the calls that begin
  // or end there or later.
  void OnCycles(uint64_t behind, CycleMark mark, uint64_t tsc);
  // Now and then, that no cycles wait for the next call to begin or end.
  void OnProgress(const BuilderProgress& progress);
  // Flow was lost.
  void OnLost() { cycles_.Lose(); }
  // No call ends later, but with the flow: what follows happens at the end of the thread's life.
  void EndLife();
  // The flow has ended.
  void Finish(ThreadTimeline& thread);
  CallTree& tree() { return tree_; }

  // As OnEnter and OnExit.
  void OnUsual(std::span<const UsualMove> moves, const AddressSpace* space);
  void OnEnter(const Call& call, size_t depth);
  void OnExit(size_t depth, const BuilderExit& exit);
  // Behind the calls and returns that the thread made before it.
  void OnSystemCall(const BuilderSystemCall& call);
  // `instructions`: the number that the thread has executed.
  void OnSwitch(uint32_t stack, uint64_t instructions);

 private:
  struct Frame {
    uint32_t node = 0;
    uint32_t function = CallPath::kNoFunction;
    uint32_t depth = 0;  // of the calls that are shown
    bool focus = false;  // is, or was called in, what the options ask for
    bool partial = false;
    bool has_mark = false;      // of cycles, since it began
    CycleShares::Count cycles;  // when it began
    uint64_t cycles_first = 0;  // Count::told at that mark
    TimePoint begin;
  };
  struct StackFrames {
    uint32_t root = 0;
    std::vector<Frame> frames;
  };

  // Moves that come in a span of executing, by the current call and those around it.
  size_t ReportInsideSpan(std::span<const UsualMove> moves, const AddressSpace* space);
  bool MayReportInsideSpan() const;
  void TellMove(const UsualMove& move, const AddressSpace* space);
  void MoveInside(const UsualMove& move, const AddressSpace* space);
  void EnterInside(const UsualMove& move, const AddressSpace* space);
  void LeaveInside(const UsualMove& move);
  size_t ReportUniformRun(std::span<const UsualMove> moves, const AddressSpace* space,
                          uint64_t end);
  uint32_t AskNumber(const UsualMove& move, const AddressSpace* space);
  // Many calls lie between two times in the trace, and have the same bounds.
  void TakeBounds(const TscInterval& bounds) {
    if (bounds.lo == bounds_.lo && bounds.hi == bounds_.hi && has_bounds_) return;
    bounds_point_ = plan_.unit.Point(0, bounds);
    bounds_ = bounds;
    has_bounds_ = true;
  }
  TimePoint PointOf(uint64_t tsc, const TscInterval& bounds);
  // Charges all unassigned time up to there; executing time goes to `executing`.
  void Charge(const TimePoint& until, uint32_t executing, uint32_t otherwise);
  // Charges the rest of the life, where EndLife was called.
  void ChargeEnd();
  TimePoint EndOf(const BuilderSystemCall& call);
  bool LiesIn(const ClassSpan& span, const TimePoint& until) const;
  void ChargeInside(const TimePoint& until, TimeClass kind, uint32_t node);
  void ChargePiece(const ClassSpan& span, const TimePoint& from, const TimePoint& until,
                   uint32_t node);
  void ChargeInstructions(uint64_t until, uint32_t node);
  void NoteFirstMark();
  void EnterAround(const Call& call, const TimePoint& at);
  void TakeTop();
  Frame FrameOf(const Call& call);
  void KeepInside(const Frame& frame, const UsualMove& move);
  // For a call in `above`.
  void PutNode(uint32_t above, Frame& frame);
  static void CountCall(NodeCounts& counts, bool whole, uint64_t duration) {
    ++counts.count;
    if (whole)
      counts.durations.Add(duration);
    else
      ++counts.partial;
  }
  bool InSpan(const TimePoint& begin, const TimePoint& end) const;
  TimelineCall Describe(const Frame& frame, const BuilderExit& exit) const;
  void EndSegment();
  uint32_t Top() const { return on_.frames.empty() ? on_.root : on_.frames.back().node; }
  void TellCycles(const Frame& frame, TimelineCall& call) const;
  size_t LongOpen() const;
  void CutTree();

  const BuilderPlan& plan_;
  const TimeAccount* account_;
  CallTree tree_;
  KeptCalls kept_;
  CycleShares cycles_{tree_};
  TimeStrip strip_;
  std::unordered_map<uint32_t, StackFrames> parked_;
  StackFrames on_;
  uint32_t number_ = 0;
  uint32_t current_;  // whose the time is since the last entry or exit
  size_t current_depth_ = 0;
  uint32_t current_function_ = CallPath::kNoFunction;
  bool current_focus_ = false;
  TimePoint cursor_;
  TscInterval bounds_;      // the last ones, where there are any,
  TimePoint bounds_point_;  // and what they are in the account's unit
  bool has_bounds_ = false;
  size_t span_ = 0;  // of the account's, that the cursor is in
  uint64_t instructions_ = 0;
  size_t cut_at_;  // the number of nodes at which the tree is cut
  size_t long_open_ = 0;
  bool is_ending_ = false;  // the time to the end of the life is not charged yet
  std::optional<TimelineCall> last_;
};

}  // namespace flowback
