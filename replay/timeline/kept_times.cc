// SPDX-License-Identifier: MIT
//
// They are kept as a timeline without calls: its bytes are checked when they are read, against the
// law of conservation of time, too.
#include "replay/timeline/kept_times.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "replay/flow/index_disk.h"
#include "replay/flow/space_names.h"
#include "replay/threads/flow_accountant.h"
#include "replay/timeline/thread_times.h"
#include "replay/timeline/timeline_bytes.h"

namespace flowback {
namespace {

using SteadyClock = std::chrono::steady_clock;

// The part of a cache that one file may take.
constexpr uint64_t kPartOfCache = 8;

std::string NameOfTimes(const IndexCache& cache) { return "times-" + cache.key; }

// Hands a stream's events and losses on.
class TimeAccountBuilder final : public ExecutionConsumer {
 public:
  TimeAccountBuilder(ExecutionConsumer* times, LossSums& losses) : times_(times), losses_(losses) {}

  void OnBlock(const BlockRun&) override {}
  void OnEvent(const TraceEvent& event) override {
    if (times_ != nullptr) times_->OnEvent(event);
  }
  void OnLoss(const DataLoss& loss) override {
    losses_.Add(loss);
    if (times_ != nullptr) times_->OnLoss(loss);
  }

 private:
  ExecutionConsumer* times_;  // null: the stream's times are unknown
  LossSums& losses_;
};

// Makes the accounts while an index's pass decodes the streams.
class TimesMaker final : public IndexListener {
 public:
  TimesMaker(const Recording& recording, const StreamInputs& inputs)
      : recording_(recording), inputs_(inputs) {}

  ExecutionConsumer* OnStreamBegin(const Stream& stream) override {
    // Setting it up takes time, which is not needed if no stream is decoded.
    if (!accountant_) accountant_ = std::make_unique<FlowAccountant>(recording_, inputs_, true);
    return &teller_.emplace(accountant_->Begin(stream), losses_);
  }
  void OnStreamEnd(const Stream& stream) override {
    accountant_->End(stream, inputs_.source().Times(stream).hi);
  }
  // REQUIRES: all streams have come, or the recording has none.
  FlowTimes Take() {
    if (!accountant_) accountant_ = std::make_unique<FlowAccountant>(recording_, inputs_, true);
    return {.accounts = accountant_->Take(), .losses = losses_.Take()};
  }

 private:
  const Recording& recording_;
  const StreamInputs& inputs_;
  std::unique_ptr<FlowAccountant> accountant_;
  LossSums losses_;
  std::optional<TimeAccountBuilder> teller_;  // of the stream at hand
};

ThreadTimeline WithoutCalls(const TimeAccount& account) {
  ThreadTimeline thread;
  thread.pid = account.pid;
  thread.tid = account.tid;
  thread.stream = account.stream;
  FillTimes(account, {}, thread);
  thread.spans = account.spans->spans;  // with the empty ones, whose bounds count, too
  CallPath& root = thread.paths.emplace_back();
  root.sums.own = thread.times;
  root.sums.total = thread.end - thread.begin;
  return thread;
}

// Keeps only those bounds of the shares that hold in any case.
TimeAccount AccountFrom(ThreadTimeline& thread) {
  TimeAccount account;
  account.pid = thread.pid;
  account.tid = thread.tid;
  account.stream = thread.stream;
  account.begin = thread.begin;
  account.end = thread.end;
  for (size_t i = 0; i < thread.times.size(); ++i)
    account.shares[i] = {.time = thread.times[i], .lo = 0, .hi = account.lifetime()};
  account.off_cpu_told = thread.off_cpu_told;
  account.causes = std::move(thread.causes);
  account.spans = ClassSpans{.spans = std::move(thread.spans), .condensed = thread.condensed};
  return account;
}

bool HaveNoHoles(const ClassSpans& spans, const TimeAccount& account) {
  uint64_t at = account.begin;
  for (const ClassSpan& span : spans.spans)
    if (std::exchange(at, span.end) != span.begin || span.begin > span.end) return false;
  return at == account.end;
}

void KeepTimes(const Recording& recording, const StreamInputs& inputs, const IndexCache& cache,
               const FlowTimes& times) {
  Timeline timeline;
  timeline.nanoseconds = times.accounts.nanoseconds;
  timeline.paths.emplace_back();
  for (const TimeAccount& account : times.accounts.threads)
    timeline.threads.push_back(WithoutCalls(account));
  timeline.losses = times.losses;
  const std::vector<uint8_t> bytes = TimelineToBytes(timeline, SpacesOf(recording, inputs));
  if (bytes.empty() || bytes.size() > cache.most_bytes / kPartOfCache) return;
  const DiskCache disk = DiskOf(cache);
  if (disk.Store(NameOfTimes(cache), bytes)) disk.Trim();
}

bool IsWorthKeeping(const IndexCache& cache, SteadyClock::time_point begin) {
  return IsUsable(cache) &&
         SteadyClock::now() - begin > std::chrono::milliseconds(cache.worth_milliseconds);
}

Status DecodeFor(const Recording& recording, const StreamInputs& inputs, Decoder& decoder,
                 TimesMaker& maker) {
  for (const Stream& stream : recording.streams) {
    ExecutionConsumer* const events = maker.OnStreamBegin(stream);
    if (!stream.bytes.empty())
      if (const auto summary = decoder.SummarizeTimed(inputs.For(stream), *events); !summary)
        return Fail(summary.error());
    maker.OnStreamEnd(stream);
  }
  return {};
}

}  // namespace

Result<TimedIndex> OpenTimedIndex(const Recording& recording, const RecordingCode& code,
                                  const StreamInputs& inputs, Decoder& decoder,
                                  const FlowIndex::Options& options, const IndexCache& cache) {
  const auto begin = SteadyClock::now();
  TimesMaker maker(recording, inputs);
  Result<FlowIndex> index =
      FlowIndex::Open(recording, code, inputs, decoder, options, cache, &maker);
  if (!index) return Fail(index.error());
  const bool from_cache = index->from_cache();
  TimedIndex timed{.index = *std::move(index), .times = {}};
  if (from_cache) return timed;
  timed.times = maker.Take();
  if (IsWorthKeeping(cache, begin)) KeepTimes(recording, inputs, cache, *timed.times);
  return timed;
}

Result<TimedIndex> MakeTimedIndex(const Recording& recording, const StreamInputs& inputs,
                                  const std::vector<ThreadFlow>& flows, Decoder& decoder,
                                  const FlowIndex::Options& options) {
  TimesMaker maker(recording, inputs);
  std::vector<IndexedStream> streams;
  for (const Stream& stream : recording.streams) streams.push_back({&stream, &inputs.For(stream)});
  Result<FlowIndex> index = FlowIndex::Open(streams, flows, decoder, options, {}, &maker);
  if (!index) return Fail(index.error());
  return TimedIndex{.index = *std::move(index), .times = maker.Take()};
}

std::optional<FlowTimes> LoadTimes(const Recording& recording, const StreamInputs& inputs,
                                   const IndexCache& cache) {
  if (!IsUsable(cache)) return std::nullopt;
  const auto file = DiskOf(cache).Load(NameOfTimes(cache));
  if (file == nullptr) return std::nullopt;
  auto timeline = TimelineFromBytes(file->content(), recording, SpacesOf(recording, inputs));
  if (!timeline) return std::nullopt;
  FlowTimes times;
  times.accounts.nanoseconds = timeline->nanoseconds;
  for (ThreadTimeline& thread : timeline->threads) {
    times.accounts.threads.push_back(AccountFrom(thread));
    const TimeAccount& account = times.accounts.threads.back();
    if (!HaveNoHoles(*account.spans, account)) return std::nullopt;
  }
  times.losses = std::move(timeline->losses);
  return times;
}

Result<FlowTimes> FindTimes(const Recording& recording, const StreamInputs& inputs,
                            Decoder& decoder, const IndexCache& cache) {
  if (auto times = LoadTimes(recording, inputs, cache)) return *std::move(times);
  const auto begin = SteadyClock::now();
  TimesMaker maker(recording, inputs);
  if (Status status = DecodeFor(recording, inputs, decoder, maker); !status)
    return Fail(status.error());
  FlowTimes times = maker.Take();
  if (IsWorthKeeping(cache, begin)) KeepTimes(recording, inputs, cache, times);
  return times;
}

}  // namespace flowback
