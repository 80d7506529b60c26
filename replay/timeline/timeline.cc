// SPDX-License-Identifier: MIT
#include "flowback/replay/timeline.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/saturated.h"
#include "flowback/replay/exec_times.h"
#include "flowback/replay/player.h"
#include "replay/timeline/thread_teller.h"

namespace flowback {
namespace {

class TimelineMaker final : public PlayConsumer {
 public:
  TimelineMaker(const TimelineSources& sources, const std::vector<const ThreadFlow*>& flows,
                const TimelineOptions& options, const TimeAccounts& accounts)
      : flows_(flows),
        options_(options),
        functions_(sources.symbolizer, sources.recorded_path),
        plan_{.unit = TimeUnit(sources.recording.time),
              .options = options_,
              .finder = sources.functions,
              .functions = functions_,
              .most_calls =
                  std::max<size_t>(options.most_calls / std::max<size_t>(flows.size(), 1), 16),
              .paths = paths_},
        recording_(sources.recording),
        clock_(sources.recording) {
    timeline_.nanoseconds = accounts.nanoseconds;
    timeline_.emulated = sources.recording.machine.emulated;
    FindAccounts(accounts);
    FindSpan();
    FindStrips();
    timeline_.threads.resize(flows.size());
  }

  void OnThreadBegin(const ThreadFlow& thread, size_t number) override;
  void OnThreadEnd(const ThreadFlow& thread, size_t number) override;
  void OnBlock(const BlockRun& run) override {
    instructions_ += run.lengths.size();
    teller_->OnBlock(run);
  }
  void OnBlocks(const BlockBatch& batch) override {
    instructions_ += batch.instructions();
    teller_->OnBlocks(batch);
  }
  void OnEvent(const TraceEvent& event) override { teller_->OnEvent(event); }
  void OnLoss(const DataLoss& loss) override {
    losses_ += loss.count;
    AddLoss(loss);
    teller_->OnLoss(loss);
  }

  Timeline Take();

 private:
  void AddLoss(const DataLoss& loss);
  void FindAccounts(const TimeAccounts& accounts);
  TimeSpan LifeOf(const TimeAccount& account) const;
  void FindSpan();
  void FindStrips();
  void TellTimes(const TimeAccount& account, ThreadTimeline& thread) const;

  const std::vector<const ThreadFlow*>& flows_;
  const TimelineOptions& options_;
  FunctionTable functions_;
  size_t paths_ = 0;
  const TellerPlan plan_;
  const Recording& recording_;
  std::vector<const TimeAccount*> accounts_;  // of the flows; null: none
  const RecordingClock clock_;
  std::optional<ExecTimes> execs_;  // of the process whose thread is played
  std::vector<bool> has_strip_;
  std::optional<ThreadTeller> teller_;
  CallTree all_;
  Timeline timeline_;
  uint64_t instructions_ = 0;
  uint64_t losses_ = 0;
  std::map<std::pair<LossCause, std::shared_ptr<const CodeSection>>, size_t> losses_of_;
};

void TimelineMaker::AddLoss(const DataLoss& loss) {
  const auto [known, added] =
      losses_of_.try_emplace({loss.cause, loss.code}, timeline_.losses.size());
  if (added)
    timeline_.losses.push_back(
        {.cause = loss.cause, .code = loss.code, .ip = loss.last_ip, .count = 0, .bytes = 0});
  LossSum& sum = timeline_.losses[known->second];
  AddSaturated(sum.count, loss.count);
  sum.bytes += loss.bytes();
}

void TimelineMaker::FindAccounts(const TimeAccounts& accounts) {
  std::map<int32_t, const TimeAccount*> by_tid;
  std::map<const Stream*, const TimeAccount*> by_stream;
  for (const TimeAccount& account : accounts.threads) {
    if (account.lifetime() == 0) continue;
    if (account.tid >= 0)
      by_tid[account.tid] = &account;
    else
      by_stream[account.stream] = &account;
  }
  for (const ThreadFlow* flow : flows_) {
    const TimeAccount* account = nullptr;
    if (flow->tid >= 0) {
      if (const auto found = by_tid.find(flow->tid); found != by_tid.end()) account = found->second;
    } else if (!flow->pieces.empty()) {
      const auto found = by_stream.find(flow->pieces.front().stream);
      if (found != by_stream.end()) account = found->second;
    }
    accounts_.push_back(account);
  }
}

// Cut to what was asked for.
TimeSpan TimelineMaker::LifeOf(const TimeAccount& account) const {
  const TimeSpan& wanted = options_.span;
  return {.begin = std::clamp(account.begin, wanted.begin, wanted.end),
          .end = std::clamp(account.end, wanted.begin, wanted.end)};
}

void TimelineMaker::FindSpan() {
  uint64_t begin = ~uint64_t{0};
  uint64_t end = 0;
  for (const TimeAccount* account : accounts_) {
    if (account == nullptr) continue;
    const TimeSpan life = LifeOf(*account);
    begin = std::min(begin, life.begin);
    end = std::max(end, life.end);
  }
  if (begin > end) return;
  timeline_.begin = begin;
  timeline_.end = end;
}

// The threads that live longest have one.
void TimelineMaker::FindStrips() {
  has_strip_.resize(flows_.size());
  std::vector<std::pair<uint64_t, size_t>> lives;
  for (size_t i = 0; i < accounts_.size(); ++i) {
    if (accounts_[i] == nullptr) continue;
    const TimeSpan life = LifeOf(*accounts_[i]);
    if (life.begin < life.end) lives.emplace_back(~(life.end - life.begin), i);
  }
  std::ranges::sort(lives);
  for (size_t i = 0; i < std::min(lives.size(), options_.most_strips); ++i)
    has_strip_[lives[i].second] = true;
}

void TimelineMaker::OnThreadBegin(const ThreadFlow& thread, size_t number) {
  const size_t columns = has_strip_[number] ? options_.columns : 0;
  teller_.emplace(plan_, accounts_[number], TimeStrip(timeline_.begin, timeline_.end, columns));
  execs_.emplace(recording_, clock_, thread.pid);
  teller_->LookForExec(
      [this](uint64_t begin_tsc, uint64_t end_tsc) { return execs_->Between(begin_tsc, end_tsc); });
  instructions_ = losses_ = 0;
}

void TimelineMaker::TellTimes(const TimeAccount& account, ThreadTimeline& thread) const {
  const TimeSpan life = LifeOf(account);
  thread.begin = life.begin;
  thread.end = life.end;
  thread.causes = account.causes;
  thread.off_cpu_told = account.off_cpu_told;
  thread.condensed = account.spans->condensed;
  for (const ClassSpan& span : account.spans->spans) {
    const uint64_t begin = std::clamp(span.begin, life.begin, life.end);
    const uint64_t end = std::clamp(span.end, life.begin, life.end);
    thread.times[static_cast<size_t>(span.kind)] += end - begin;
    if (options_.spans && begin < end) thread.spans.push_back(span);
  }
}

void TimelineMaker::OnThreadEnd(const ThreadFlow& flow, size_t number) {
  ThreadTimeline& thread = timeline_.threads[number];
  thread.pid = flow.pid;
  thread.tid = flow.tid;
  if (flow.tid < 0 && !flow.pieces.empty()) thread.stream = flow.pieces.front().stream;
  teller_->Finish(thread);
  thread.losses = losses_;
  uint64_t most = ~uint64_t{0};
  if (accounts_[number] != nullptr) {
    TellTimes(*accounts_[number], thread);
    most = thread.end - thread.begin;
  }
  thread.paths = teller_->tree().Paths(most);
  if (thread.condensed)  // where in the spans the calls were is not known
    for (CallPath& path : thread.paths) {
      path.sums.self.lo = 0;
      path.sums.self.hi = thread.times[static_cast<size_t>(TimeClass::kExecuting)];
    }
  const bool cut = options_.span.begin != 0 || options_.span.end != UINT64_MAX;
  thread.instructions = cut ? thread.paths.front().sums.instructions : instructions_;
  all_.Add(teller_->tree(), options_.most_paths);
  paths_ += thread.paths.size();
  teller_.reset();
}

Timeline TimelineMaker::Take() {
  for (const ThreadTimeline& thread : timeline_.threads)
    for (size_t i = 0; i < thread.times.size(); ++i) timeline_.times[i] += thread.times[i];
  timeline_.paths = all_.Paths(~uint64_t{0});
  timeline_.by_function = all_.ByFunction(timeline_.paths, functions_.all().size());
  timeline_.functions = std::move(functions_.all());
  return std::move(timeline_);
}

}  // namespace

Result<Timeline> MakeTimeline(const TimelineSources& sources,
                              const std::vector<const ThreadFlow*>& flows,
                              const TimelineOptions& options) {
  Result<std::unique_ptr<Decoder>> decoder = sources.make_decoder();
  if (!decoder) return Fail(decoder.error());
  Result<FlowAccounts> accounts = AccountFlow(sources.recording, sources.inputs, **decoder, true);
  if (!accounts) return Fail(accounts.error());
  accounts->summaries.clear();
  Player player(sources.inputs, sources.make_decoder,
                {.threads = options.threads, .in_flight = options.in_flight});
  TimelineMaker maker(sources, flows, options, accounts->times);
  if (Status status = player.Play(flows, maker); !status) return Fail(status.error());
  Timeline timeline = maker.Take();
  if (Status status = CheckTimeline(timeline); !status) return Fail(status.error());
  return timeline;
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
    return Fail(Error(ErrorCode::kSystem,
                      "thread " + std::to_string(thread.tid) + ": its calls' times add up to " +
                          std::to_string(sum) + ", not to its life of " +
                          std::to_string(thread.end - thread.begin) + ": a fault in flowback")
                    .Remedy("report it with the recording"));
  }
  return {};
}

}  // namespace flowback
