// SPDX-License-Identifier: MIT
#include "replay/samples/sample_timeline.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/linux/kernel_address.h"
#include "decode/code/space_at.h"
#include "flowback/replay/player.h"
#include "replay/samples/sampled_strip.h"
#include "replay/threads/stream_times.h"
#include "replay/timeline/stretch_functions.h"
#include "replay/timeline/thread_timeline_builder.h"

namespace flowback {
namespace {

bool Contradicts(LossCause cause) {
  switch (cause) {
    case LossCause::kNoBranchThere:
    case LossCause::kOtherTarget:
    case LossCause::kOtherKind:
    case LossCause::kNotStraight:
    case LossCause::kBadInstruction:
      return true;
    default:
      return false;
  }
}

// Numbers of functions, also of what lies in no code that is there.
class PlaceFunctions {
 public:
  PlaceFunctions(FunctionFinder& finder, FunctionTable& table, Symbolizer& symbolizer)
      : table_(table), symbolizer_(symbolizer), functions_(finder, table) {}

  uint32_t Of(const AddressSpace& space, uint64_t address) {
    if (space.Find(address) != nullptr) return functions_.Of(&space, address);
    if (!IsKernelAddress(address)) return functions_.OfNoFunction(&space, address);
    return OfKernel(space, address);
  }

 private:
  // Names of the kernel's functions may be known without their code.
  uint32_t OfKernel(const AddressSpace& space, uint64_t address) {
    if (symbolizer_.Find(space, address)) {
      Call call;
      call.space = &space;
      call.entry_ip = address;
      return table_.NumberOf(call);
    }
    if (kernel_ == CallPath::kNoFunction) {
      kernel_ = static_cast<uint32_t>(table_.all().size());
      table_.all().push_back({.name = "[kernel]", .file = {}});
    }
    return kernel_;
  }

  FunctionTable& table_;
  Symbolizer& symbolizer_;
  BlockFunctions functions_;
  uint32_t kernel_ = CallPath::kNoFunction;
};

// What the records prove, held against the code.
class RecordJudge final : public PlayConsumer {
 public:
  RecordJudge(SampleTimeline& told, PlaceFunctions& functions, const TimeUnit& unit,
              const TimelineOptions& options, uint64_t record_size)
      : told_(told),
        functions_(functions),
        unit_(unit),
        span_(options.span),
        record_size_(record_size) {}

  void OnThreadBegin(const ThreadFlow& thread, size_t) override { tid_ = thread.tid; }
  void OnBlock(const BlockRun& run) override {
    if (!IsWanted(run.tsc) || run.space == nullptr) return;
    told_.instructions += run.lengths.size();
    const uint32_t function = functions_.Of(*run.space, run.address);
    if (function >= instructions_.size()) instructions_.resize(function + size_t{1});
    instructions_[function] += run.lengths.size();
  }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss& loss) override {
    if (!IsWanted(loss.tsc)) return;
    const uint64_t records = loss.bytes() / record_size_;
    (Contradicts(loss.cause) ? told_.contradicted : told_.unread) += records;
    auto& losses = told_.timeline.losses;
    const auto [known, added] =
        sums_.try_emplace({tid_, loss.cause, loss.code.get()}, losses.size());
    if (added)
      losses.push_back({.tid = tid_, .cause = loss.cause, .code = loss.code, .ip = loss.last_ip});
    losses[known->second].count += loss.count;
    losses[known->second].bytes += loss.bytes();
  }

  // By function.
  const std::vector<uint64_t>& instructions() const { return instructions_; }

 private:
  bool IsWanted(uint64_t tsc) const { return span_.Contains(tsc == 0 ? 0 : unit_.At(tsc)); }

  SampleTimeline& told_;
  PlaceFunctions& functions_;
  const TimeUnit& unit_;
  const TimeSpan span_;
  const uint64_t record_size_;
  int32_t tid_ = -1;
  std::vector<uint64_t> instructions_;
  std::map<std::tuple<int32_t, LossCause, const CodeSection*>, size_t> sums_;
};

class SampleTimelineMaker {
 public:
  SampleTimelineMaker(const TimelineSources& sources, const TimelineOptions& options)
      : sources_(sources),
        options_(options),
        unit_(sources.recording.time),
        table_(sources.symbolizer, sources.recorded_path),
        functions_(sources.functions, table_, sources.symbolizer) {}

  Result<SampleTimeline> Make(const std::vector<const ThreadFlow*>& flows);

 private:
  void AddThread(const ThreadFlow& flow);
  void AddSamples(const FlowPiece& piece, std::vector<ThreadSample>& samples);
  uint32_t FunctionOf(const FlowPiece& piece, const StreamSample& sample);
  Status JudgeRecords(const std::vector<const ThreadFlow*>& flows);
  void TellTotals();
  void AddStrips();

  const TimelineSources& sources_;
  const TimelineOptions& options_;
  const TimeUnit unit_;
  FunctionTable table_;
  PlaceFunctions functions_;
  std::vector<uint64_t> instructions_;  // by function
  SampleTimeline told_;
};

// Uses the mappings of that time. A stream that several threads share has the code with their
// stays.
uint32_t SampleTimelineMaker::FunctionOf(const FlowPiece& piece, const StreamSample& sample) {
  const uint64_t stood = sample.ip != 0 ? sample.ip : sample.to;
  if (stood == 0) return CallPath::kNoFunction;
  const AddressSpaceHistory* code = piece.stay == nullptr ? nullptr : piece.stay->code.get();
  if (code == nullptr || code->epochs.empty()) code = sources_.flow.inputs.For(*piece.stream).code;
  return functions_.Of(SpaceAt(*code, unit_.At(sample.order)), stood);
}

void SampleTimelineMaker::AddSamples(const FlowPiece& piece, std::vector<ThreadSample>& samples) {
  const auto add = [&](const StreamSample& sample) {
    const uint64_t time = sample.tsc == 0 ? 0 : unit_.At(sample.tsc);
    if (!options_.span.Contains(time)) return;
    samples.push_back({time, sample.ip, sample.to, FunctionOf(piece, sample)});
    told_.records += sample.records;
    told_.nowhere += samples.back().stood() == 0 ? 1 : 0;
    told_.without_ip += sample.ip == 0 && sample.to != 0 ? 1 : 0;
  };
  sources_.flow.inputs.source().VisitSamples(*piece.stream, {piece.begin, piece.end}, add);
}

void SampleTimelineMaker::AddThread(const ThreadFlow& flow) {
  std::vector<ThreadSample> samples;
  for (const FlowPiece& piece : flow.pieces) AddSamples(piece, samples);
  if (samples.empty()) return;
  std::ranges::stable_sort(samples, {}, &ThreadSample::time);
  ThreadTimeline& thread = told_.timeline.threads.emplace_back();
  thread.pid = flow.pid;
  thread.tid = flow.tid;
  if (flow.tid < 0) thread.stream = flow.pieces.front().stream;
  const auto timed = std::ranges::upper_bound(samples, uint64_t{0}, {}, &ThreadSample::time);
  thread.begin = timed == samples.end() ? 0 : timed->time;
  thread.end = samples.back().time;
  thread.times[static_cast<size_t>(TimeClass::kExecuting)] = samples.size();
  thread.paths.emplace_back();
  told_.samples += samples.size();
  told_.threads.push_back(std::move(samples));
}

// Where no engine decodes such records, the samples are there all the same.
Status SampleTimelineMaker::JudgeRecords(const std::vector<const ThreadFlow*>& flows) {
  if (const auto decoder = sources_.flow.make_decoder(); !decoder) {
    told_.unjudged = decoder.error().message();
    return {};
  }
  RecordJudge judge(told_, functions_, unit_, options_, sources_.flow.inputs.source().Unit().bytes);
  Player player(sources_.flow, {.threads = options_.threads, .in_flight = options_.in_flight});
  if (Status status = player.Play(flows, judge); !status) return status;
  instructions_ = judge.instructions();
  return {};
}

void SampleTimelineMaker::TellTotals() {
  Timeline& timeline = told_.timeline;
  timeline.nanoseconds = unit_.nanoseconds();
  timeline.emulated = sources_.recording.machine.emulated;
  timeline.functions = std::move(table_.all());
  timeline.by_function.resize(timeline.functions.size());
  instructions_.resize(timeline.functions.size());
  for (size_t i = 0; i < instructions_.size(); ++i)
    timeline.by_function[i].self_instructions = timeline.by_function[i].instructions =
        instructions_[i];
  for (const std::vector<ThreadSample>& samples : told_.threads)
    for (const ThreadSample& sample : samples)
      if (sample.function != CallPath::kNoFunction) ++timeline.by_function[sample.function].count;
  for (CallSums& sums : timeline.by_function) sums.self.time = sums.total = sums.count;
  for (const ThreadTimeline& thread : timeline.threads) {
    if (thread.begin == 0) continue;
    if (timeline.begin == 0 || thread.begin < timeline.begin) timeline.begin = thread.begin;
    timeline.end = std::max(timeline.end, thread.end);
  }
  timeline.times[static_cast<size_t>(TimeClass::kExecuting)] = told_.samples;
  timeline.paths.emplace_back();
}

void SampleTimelineMaker::AddStrips() {
  Timeline& timeline = told_.timeline;
  if (timeline.begin == timeline.end) return;
  for (const size_t i : ThreadsBySamples(told_, options_.most_strips))
    timeline.threads[i].strip =
        SampledStrip(told_.threads[i], timeline.begin, timeline.end, options_.columns);
}

Result<SampleTimeline> SampleTimelineMaker::Make(const std::vector<const ThreadFlow*>& flows) {
  for (const ThreadFlow* flow : flows) AddThread(*flow);
  if (Status status = JudgeRecords(flows); !status) return Fail(status.error());
  TellTotals();
  AddStrips();
  return std::move(told_);
}

}  // namespace

std::vector<size_t> ThreadsBySamples(const SampleTimeline& timeline, size_t most) {
  std::vector<size_t> order(timeline.threads.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](size_t i) { return timeline.threads[i].size(); });
  order.resize(std::min(order.size(), most));
  return order;
}

Result<SampleTimeline> MakeSampleTimeline(const TimelineSources& sources,
                                          const std::vector<const ThreadFlow*>& flows,
                                          const TimelineOptions& options) {
  return SampleTimelineMaker(sources, options).Make(flows);
}

}  // namespace flowback
