// SPDX-License-Identifier: MIT
#include "flowback/replay/timeline.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "flowback/replay/player.h"
#include "replay/calls/exec_times.h"
#include "replay/timeline/call_relay.h"
#include "replay/timeline/function_sums.h"
#include "replay/timeline/thread_timeline_builder.h"
#include "replay/timeline/thread_times.h"

namespace flowback {
namespace {

class TimelineMaker final : public PlayConsumer {
 public:
  TimelineMaker(const TimelineSources& sources, const std::vector<const ThreadFlow*>& flows,
                const TimelineOptions& options, const TimeAccounts& accounts)
      : options_(options),
        functions_(sources.symbolizer, sources.recorded_path),
        finder_(sources.functions),
        plan_{.unit = TimeUnit(sources.recording.time),
              .options = options_,
              .functions = functions_,
              .most_calls =
                  std::max<size_t>(options.most_calls / std::max<size_t>(flows.size(), 1), 16)},
        recording_(sources.recording),
        clock_(sources.recording),
        all_(options.by_instructions || accounts.threads.empty()) {
    timeline_.nanoseconds = accounts.nanoseconds;
    timeline_.emulated = sources.recording.machine.emulated;
    accounts_ = AccountsOf(flows, accounts);
    const TimeSpan lives = LivesOf(accounts_, options.span);
    timeline_.begin = lives.begin;
    timeline_.end = lives.end;
    has_strip_ = HaveStrips(accounts_, options);
    timeline_.threads.resize(flows.size());
  }

  void OnThreadBegin(const ThreadFlow& thread, size_t number) override;
  void OnThreadEnd(const ThreadFlow& thread, size_t number) override;
  void OnBlock(const BlockRun& run) override {
    instructions_ += run.lengths.size();
    relay_->OnBlock(run);
  }
  void OnBlocks(const BlockBatch& batch) override {
    instructions_ += batch.instructions();
    relay_->OnBlocks(batch);
  }
  void OnEvent(const TraceEvent& event) override { relay_->OnEvent(event); }
  void OnLoss(const DataLoss& loss) override {
    losses_ += loss.count;
    sums_.Add(loss);
    relay_->OnLoss(loss);
  }

  Timeline Take();

 private:
  // Deeper call paths are cut.
  static constexpr uint32_t kDeepestPath = 1000;
  // Paths of each thread, however many threads there are.
  static constexpr size_t kLeastPaths = 16;

  void TakePaths(ThreadTimeline& thread, uint64_t most_hi);

  const TimelineOptions& options_;
  FunctionTable functions_;
  FunctionFinder& finder_;
  const BuilderPlan plan_;
  const Recording& recording_;
  std::vector<const TimeAccount*> accounts_;  // of the flows; null: none
  const RecordingClock clock_;
  std::optional<ExecTimes> execs_;  // of the process whose thread is played
  std::vector<bool> has_strip_;
  std::optional<ThreadTimelineBuilder> teller_;
  std::optional<CallRelay> relay_;
  CallTree all_;
  std::vector<CallSums> by_function_;  // of all threads so far
  std::vector<DurationCounts> durations_;
  Timeline timeline_;
  uint64_t instructions_ = 0;
  uint64_t losses_ = 0;
  LossSums sums_;
};

void TimelineMaker::OnThreadBegin(const ThreadFlow& thread, size_t number) {
  relay_.reset();
  const size_t columns = has_strip_[number] ? options_.columns : 0;
  teller_.emplace(plan_, accounts_[number], TimeStrip(timeline_.begin, timeline_.end, columns));
  execs_.emplace(recording_, clock_, thread.pid);
  relay_.emplace(finder_, *teller_, options_.threads > 1);
  relay_->LookForExec(execs_->AsFunction());
  relay_->LookForPauses(recording_.machine);
  instructions_ = losses_ = 0;
}

void TimelineMaker::OnThreadEnd(const ThreadFlow& flow, size_t number) {
  ThreadTimeline& thread = timeline_.threads[number];
  thread.pid = flow.pid;
  thread.tid = flow.tid;
  if (flow.tid < 0 && !flow.pieces.empty()) thread.stream = flow.pieces.front().stream;
  relay_->Flush();
  teller_->EndLife();
  relay_->Finish();
  relay_->Flush();
  teller_->Finish(thread);
  thread.losses = losses_;
  thread.other_stacks = relay_->other_stacks();
  uint64_t most = ~uint64_t{0};
  if (accounts_[number] != nullptr) {
    FillTimes(*accounts_[number], options_, thread);
    most = thread.end - thread.begin;
  }
  TakePaths(thread, most);
  if (thread.condensed)  // where in the spans the calls were is not known
    for (CallPath& path : thread.paths) {
      path.sums.self.lo = 0;
      path.sums.self.hi = thread.times[static_cast<size_t>(TimeClass::kExecuting)];
    }
  const bool cut = options_.span.begin != 0 || options_.span.end != UINT64_MAX;
  thread.instructions = cut ? thread.paths.front().sums.instructions : instructions_;
  relay_.reset();
  teller_.reset();
}

// The sums by function are taken from all paths, before any are cut here.
void TimelineMaker::TakePaths(ThreadTimeline& thread, uint64_t most_hi) {
  CallTree& tree = teller_->tree();
  by_function_.resize(functions_.all().size());
  durations_.resize(functions_.all().size());
  tree.AddByFunction(by_function_, durations_);
  tree.Cut(options_.most_paths, kDeepestPath);
  thread.cut_calls = tree.CutCalls();
  all_.Add(tree);
  all_.Cut(options_.most_paths);
  tree.Cut(std::max<size_t>(options_.most_paths / timeline_.threads.size(), kLeastPaths));
  thread.paths = tree.Paths(most_hi);
}

Timeline TimelineMaker::Take() {
  for (const ThreadTimeline& thread : timeline_.threads)
    for (size_t i = 0; i < thread.times.size(); ++i) timeline_.times[i] += thread.times[i];
  timeline_.losses = sums_.Take();
  timeline_.paths = all_.Paths(~uint64_t{0});
  by_function_.resize(functions_.all().size());
  for (size_t i = 0; i < durations_.size(); ++i) by_function_[i].durations = durations_[i].Take();
  timeline_.by_function = std::move(by_function_);
  timeline_.functions = std::move(functions_.all());
  return std::move(timeline_);
}

}  // namespace

Result<Timeline> MakeTimeline(const TimelineSources& sources,
                              const std::vector<const ThreadFlow*>& flows,
                              const TimelineOptions& options) {
  const Result<TimeAccounts> accounts = AccountTimes(sources);
  if (!accounts) return Fail(accounts.error());
  return MakeTimeline(sources, flows, options, *accounts);
}

Result<Timeline> MakeTimeline(const TimelineSources& sources,
                              const std::vector<const ThreadFlow*>& flows,
                              const TimelineOptions& options, const TimeAccounts& accounts) {
  Player player(sources.flow, {.threads = options.threads, .in_flight = options.in_flight});
  TimelineMaker maker(sources, flows, options, accounts);
  if (Status status = player.Play(flows, maker); !status) return Fail(status.error());
  Timeline timeline = maker.Take();
  if (Status status = CheckTimeline(timeline); !status) return Fail(status.error());
  if (Status status = CheckFunctions(timeline); !status) return Fail(status.error());
  return timeline;
}

namespace {

Status Fault(const std::string& what) {
  return Fail(Error(ErrorCode::kSystem, what + ": a fault in flowback")
                  .Remedy("report it with the recording"));
}

}  // namespace

Status CheckFunctions(const Timeline& timeline) {
  if (timeline.paths.empty()) return {};
  const CallSums& all = timeline.paths.front().sums;
  ClassTimes times = all.own;
  uint64_t instructions = all.self_instructions;
  for (const CallSums& sums : timeline.by_function) {
    for (size_t i = 0; i < times.size(); ++i) times[i] += sums.own[i];
    instructions += sums.self_instructions;
  }
  if (times == timeline.times && instructions == all.instructions) return {};
  return Fault("the functions have " + std::to_string(instructions) + " instructions, not all " +
               std::to_string(all.instructions) + ", or other times");
}

Status CheckTimeline(const Timeline& timeline) {
  for (const ThreadTimeline& thread : timeline.threads) {
    ClassTimes given{};
    uint64_t instructions = 0;
    for (const CallPath& path : thread.paths) {
      for (size_t i = 0; i < given.size(); ++i) given[i] += path.sums.own[i];
      instructions += path.sums.self_instructions;
    }
    uint64_t sum = 0;
    for (const uint64_t time : given) sum += time;
    const bool whole = given == thread.times && sum == thread.end - thread.begin;
    if (whole && instructions <= thread.instructions) continue;
    return Fault("thread " + std::to_string(thread.tid) + ": its calls' times add up to " +
                 std::to_string(sum) + ", not to its life of " +
                 std::to_string(thread.end - thread.begin));
  }
  return {};
}

}  // namespace flowback
