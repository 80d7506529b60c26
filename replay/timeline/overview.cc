// SPDX-License-Identifier: MIT
#include "replay/timeline/overview.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "replay/threads/stream_times.h"
#include "replay/timeline/stretch_functions.h"
#include "replay/timeline/thread_timeline_builder.h"
#include "replay/timeline/thread_times.h"

namespace flowback {
namespace {

bool IsAll(const TimeSpan& span) { return span.begin == 0 && span.end == UINT64_MAX; }

// What a thread executed from a time on.
struct FlowFrom {
  uint64_t begin = 0;
  const StretchProfile* profile = nullptr;
};

class OverviewMaker {
 public:
  OverviewMaker(const TimelineSources& sources, const FlowIndex& index,
                const TimelineOptions& options)
      : sources_(sources),
        index_(index),
        options_(options),
        unit_(sources.recording.time),
        table_(sources.symbolizer, sources.recorded_path),
        functions_(sources.functions, table_),
        stretches_(index, sources.flow.inputs, functions_) {}

  Overview Make(const FlowTimes& times, const std::vector<const ThreadFlow*>& flows);

 private:
  void AddThread(const ThreadFlow& flow, const TimeAccount* account, bool has_strip);
  void AddFlow(const ThreadFlow& flow, const IndexedThread& indexed, ThreadTimeline& thread);
  double PartInSpan(const FlowShare& share) const;
  std::vector<StripColumn> StripOf(const TimeAccount& account, const ThreadTimeline& thread,
                                   bool has_strip);
  void AddExecuting(uint64_t begin, uint64_t end, TimeStrip& strip);
  const IndexedThread* Find(const ThreadFlow& flow) const;
  bool IsWhole() const;
  void TellFunctions();
  void TellSums();

  const TimelineSources& sources_;
  const FlowIndex& index_;
  const TimelineOptions& options_;
  const TimeUnit unit_;
  FunctionTable table_;
  BlockFunctions functions_;
  StretchFunctions stretches_;
  std::vector<FlowFrom> flow_;  // of the thread at hand, by time
  size_t at_ = 0;               // in it
  struct Sum {
    double instructions = 0;
    double time = 0;
  };
  std::vector<Sum> sums_;  // by function, from stretches
  Overview overview_;
};

const IndexedThread* OverviewMaker::Find(const ThreadFlow& flow) const {
  for (const IndexedThread& thread : index_.threads()) {
    if (thread.tid != flow.tid) continue;
    if (flow.tid >= 0 || thread.shares.empty() || flow.pieces.empty() ||
        thread.shares.front().stream == flow.pieces.front().stream)
      return &thread;
  }
  return nullptr;
}

// Returns the part of a share in the span, by its time.
double OverviewMaker::PartInSpan(const FlowShare& share) const {
  if (IsAll(options_.span)) return 1;
  if (share.first_tsc == 0) return 0;
  const uint64_t begin = unit_.At(share.first_tsc);
  const uint64_t end = std::max(unit_.Behind(share.last_tsc), begin + 1);
  const uint64_t from = std::clamp(begin, options_.span.begin, options_.span.end);
  const uint64_t until = std::clamp(end, options_.span.begin, options_.span.end);
  return static_cast<double>(until - from) / static_cast<double>(end - begin);
}

// Streams that the flow has no piece of were not asked for.
void OverviewMaker::AddFlow(const ThreadFlow& flow, const IndexedThread& indexed,
                            ThreadTimeline& thread) {
  std::set<const Stream*> wanted;
  for (const FlowPiece& piece : flow.pieces) wanted.insert(piece.stream);
  double instructions = 0;
  for (const FlowShare& share : indexed.shares) {
    if (!wanted.contains(share.stream)) continue;
    const StretchProfile& profile = stretches_.Of(share);
    if (share.first_tsc != 0 && (flow_.empty() || flow_.back().profile != &profile))
      flow_.push_back({unit_.At(share.first_tsc), &profile});
    const double part = PartInSpan(share);
    if (part == 0) continue;
    thread.losses += share.losses;
    instructions += part * static_cast<double>(share.instructions);
    for (const FunctionPart& one : profile.parts)
      sums_[one.function].instructions +=
          part * one.share * static_cast<double>(share.instructions);
    if (part == 1) thread.instructions += share.instructions;
  }
  if (!IsAll(options_.span)) thread.instructions = std::llround(instructions);
  std::ranges::stable_sort(flow_, {}, &FlowFrom::begin);
}

// Times come in order.
void OverviewMaker::AddExecuting(uint64_t begin, uint64_t end, TimeStrip& strip) {
  while (begin < end) {
    while (at_ + 1 < flow_.size() && flow_[at_ + 1].begin <= begin) ++at_;
    const bool has_next = at_ + 1 < flow_.size();
    const uint64_t until = has_next ? std::min(end, flow_[at_ + 1].begin) : end;
    std::span<const FunctionPart> parts;
    if (at_ < flow_.size()) parts = flow_[at_].profile->parts;
    strip.AddShared(begin, until, parts);
    for (const FunctionPart& part : parts)
      sums_[part.function].time += part.share * static_cast<double>(until - begin);
    begin = until;
  }
}

std::vector<StripColumn> OverviewMaker::StripOf(const TimeAccount& account,
                                                const ThreadTimeline& thread, bool has_strip) {
  const Timeline& all = overview_.timeline;
  TimeStrip strip(all.begin, all.end, has_strip ? options_.columns : 0);
  at_ = 0;
  for (const ClassSpan& span : account.spans->spans) {
    const uint64_t begin = std::clamp(span.begin, thread.begin, thread.end);
    const uint64_t end = std::clamp(span.end, thread.begin, thread.end);
    if (span.kind == TimeClass::kExecuting)
      AddExecuting(begin, end, strip);
    else
      strip.Add(begin, end, span.kind, CallPath::kNoFunction, false);
  }
  return strip.Take();
}

void OverviewMaker::AddThread(const ThreadFlow& flow, const TimeAccount* account, bool has_strip) {
  ThreadTimeline& thread = overview_.timeline.threads.emplace_back();
  thread.pid = flow.pid;
  thread.tid = flow.tid;
  if (flow.tid < 0 && !flow.pieces.empty()) thread.stream = flow.pieces.front().stream;
  flow_.clear();
  if (const IndexedThread* indexed = Find(flow)) AddFlow(flow, *indexed, thread);
  if (account != nullptr) {
    FillTimes(*account, {.span = options_.span}, thread);
    thread.strip = StripOf(*account, thread, has_strip);
  }
  CallSums& root = thread.paths.emplace_back().sums;
  root.own = thread.times;
  root.total = thread.end - thread.begin;
  root.executing = thread.times[static_cast<size_t>(TimeClass::kExecuting)];
  root.self = {.time = root.executing, .lo = 0, .hi = root.executing};
  root.self_instructions = root.instructions = thread.instructions;
}

// The whole recording is wanted: its own profile has more blocks than the stretches'.
bool OverviewMaker::IsWhole() const {
  uint64_t all = 0;
  for (const IndexedThread& thread : index_.threads()) all += thread.instructions;
  return IsAll(options_.span) && all == overview_.instructions;
}

void OverviewMaker::TellFunctions() {
  if (IsWhole()) {
    for (Sum& sum : sums_) sum.instructions = 0;
    for (const HotBlock& block : index_.profile()) {
      const uint32_t function = functions_.Of(block.space, block.address);
      if (function >= sums_.size()) sums_.resize(function + size_t{1});
      sums_[function].instructions += static_cast<double>(block.instructions);
    }
  }
  Timeline& timeline = overview_.timeline;
  timeline.functions = std::move(table_.all());
  timeline.by_function.resize(timeline.functions.size());
  sums_.resize(timeline.functions.size());
  const uint64_t executing = timeline.times[static_cast<size_t>(TimeClass::kExecuting)];
  for (size_t i = 0; i < sums_.size(); ++i) {
    CallSums& sums = timeline.by_function[i];
    sums.self_instructions = sums.instructions = std::llround(sums_[i].instructions);
    sums.self = {
        .time = static_cast<uint64_t>(std::llround(sums_[i].time)), .lo = 0, .hi = executing};
    sums.executing = sums.total = sums.self.time;
    overview_.told += sums.self_instructions;
  }
}

void OverviewMaker::TellSums() {
  Timeline& timeline = overview_.timeline;
  CallSums& root = timeline.paths.emplace_back().sums;
  for (const ThreadTimeline& thread : timeline.threads) {
    const CallSums& one = thread.paths.front().sums;
    for (size_t i = 0; i < thread.times.size(); ++i) timeline.times[i] += thread.times[i];
    root.total += one.total;
    root.executing += one.executing;
    root.self_instructions += one.self_instructions;
  }
  root.own = timeline.times;
  root.self = {.time = root.executing, .lo = 0, .hi = root.executing};
  root.instructions = overview_.instructions = root.self_instructions;
}

Overview OverviewMaker::Make(const FlowTimes& times, const std::vector<const ThreadFlow*>& flows) {
  Timeline& timeline = overview_.timeline;
  timeline.nanoseconds = times.accounts.nanoseconds;
  timeline.emulated = sources_.recording.machine.emulated;
  const std::vector<const TimeAccount*> accounts = AccountsOf(flows, times.accounts);
  const TimeSpan lives = LivesOf(accounts, options_.span);
  timeline.begin = lives.begin;
  timeline.end = lives.end;
  const std::vector<bool> has_strip = HaveStrips(accounts, options_);
  sums_.resize(table_.all().size());
  for (size_t i = 0; i < flows.size(); ++i) AddThread(*flows[i], accounts[i], has_strip[i]);
  TellSums();
  TellFunctions();
  for (const LossSum& loss : times.losses)
    if (std::ranges::any_of(flows, [&](const ThreadFlow* flow) { return flow->tid == loss.tid; }))
      timeline.losses.push_back(loss);
  overview_.is_cut = !IsAll(options_.span);
  overview_.stretches = stretches_.size();
  return std::move(overview_);
}

}  // namespace

Overview MakeOverview(const TimelineSources& sources, const FlowIndex& index,
                      const FlowTimes& times, const std::vector<const ThreadFlow*>& flows,
                      const TimelineOptions& options) {
  return OverviewMaker(sources, index, options).Make(times, flows);
}

}  // namespace flowback
