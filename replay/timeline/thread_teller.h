// SPDX-License-Identifier: MIT
// One thread's flow becomes its timeline.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "flowback/replay/call_stack.h"
#include "flowback/replay/timeline.h"
#include "replay/threads/stream_times.h"
#include "replay/timeline/call_tree.h"
#include "replay/timeline/cycle_shares.h"
#include "replay/timeline/kept_calls.h"
#include "replay/timeline/time_strip.h"

namespace flowback {

// Functions by number, for all threads.
class FunctionTable {
 public:
  using PathOf = std::function<std::string(const std::string& file)>;
  explicit FunctionTable(Symbolizer& symbolizer, PathOf recorded_path = {})
      : symbolizer_(symbolizer), recorded_path_(std::move(recorded_path)) {}
  uint32_t NumberOf(const Call& call);
  std::vector<TimelineFunction>& all() { return functions_; }

 private:
  // Calls go to the same few places again and again.
  struct Answer {
    const AddressSpace* space = nullptr;
    uint64_t ip = 0;
    uint32_t number = 0;
  };
  static constexpr size_t kAnswers = 1024;

  uint32_t NumberByName(const Call& call);
  TimelineFunction Describe(const Call& call);

  Symbolizer& symbolizer_;
  PathOf recorded_path_;
  std::vector<TimelineFunction> functions_;
  std::unordered_map<uint64_t, uint32_t> by_id_;
  std::vector<uint32_t> by_small_id_;  // the same of ids that are small: the number and 1, or 0
  std::unordered_map<std::string, uint32_t> by_name_;            // of those without an id
  std::vector<Answer> answers_ = std::vector<Answer>(kAnswers);  // likewise
};

// What one thread's teller shares with the others'.
struct TellerPlan {
  TimeUnit unit;
  const TimelineOptions& options;
  FunctionFinder& finder;
  FunctionTable& functions;
  size_t most_calls = 0;
  size_t& paths;  // of all threads so far
};

class ThreadTeller final : public CallListener {
 public:
  // `account`: the thread's; null: nothing is known of its time. `strip`: of the whole timeline.
  ThreadTeller(const TellerPlan& plan, const TimeAccount* account, TimeStrip strip);

  void OnBlock(const BlockRun& run);
  void OnBlocks(const BlockBatch& batch);
  void OnEvent(const TraceEvent& event);
  void OnLoss(const DataLoss& loss) {
    stack_.OnLoss(loss);
    cycles_.Lose();
  }
  void LookForExec(CallStack::ExecBetween exec) { stack_.LookForExec(std::move(exec)); }
  // The flow has ended.
  void Finish(ThreadTimeline& thread);
  const CallTree& tree() const { return tree_; }

  void OnEnter(const Call& call, size_t depth) override;
  void OnExit(const Call& call, size_t depth, CallExit how, uint64_t instructions,
              const ExitTime& time) override;
  void OnGap(const UntracedGap&, size_t) override {}
  void OnSwitch(uint32_t stack) override;

 private:
  struct Frame {
    uint32_t node = 0;
    uint32_t function = CallPath::kNoFunction;
    uint32_t depth = 0;  // of the calls that are shown
    bool focus = false;  // is, or was called in, what the options ask for
    bool partial = false;
    bool folded = false;  // counted with its caller
    TimePoint begin;
  };
  struct StackFrames {
    uint32_t root = 0;
    std::vector<Frame> frames;
  };

  TimePoint PointOf(uint64_t tsc, const TscInterval& bounds);
  // What has not been given to any call yet, up to there, is in `executing` where it is that.
  void Charge(const TimePoint& until, uint32_t executing, uint32_t otherwise);
  bool LiesIn(const ClassSpan& span, const TimePoint& until) const;
  void ChargeInside(const TimePoint& until, TimeClass kind, uint32_t node);
  void ChargePiece(const ClassSpan& span, const TimePoint& from, const TimePoint& until,
                   uint32_t node);
  void ChargeInstructions(uint64_t until, uint32_t node);
  void NoteCycles(uint64_t behind, CycleMark mark, uint64_t tsc);
  void GiveCycles();
  void EnterAround(const Call& call, const TimePoint& at);
  void TakeTop();
  Frame FrameOf(const Call& call);
  bool InSpan(const TimePoint& begin, const TimePoint& end) const;
  TimelineCall Describe(const Call& call, const Frame& frame, CallExit how,
                        uint64_t instructions) const;
  void EndSegment();
  uint32_t Top() const { return on_.frames.empty() ? on_.root : on_.frames.back().node; }
  size_t LongOpen() const;
  size_t TreeSize() const { return plan_.paths + tree_.size(); }

  const TellerPlan& plan_;
  const TimeAccount* account_;
  CallStack stack_;
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
  uint64_t folded_ = 0;
  size_t long_open_ = 0;
  std::optional<TimelineCall> last_;
};

}  // namespace flowback
