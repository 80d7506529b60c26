// SPDX-License-Identifier: MIT
#include "replay/query/found_samples.h"

#include <string>

#include "base/recorded/call_samples.h"
#include "capture/formats/input/samples.h"
#include "replay/samples/sample_assembler.h"
#include "replay/session/access_totals.h"

namespace flowback {
namespace {

// Collects those that fit.
class Collector {
 public:
  Collector(QuerySource& source, const QueryLimits& limits, bool of_memory)
      : source_(source), limits_(limits), of_memory_(of_memory) {}

  void Add(const EventSample& sample) {
    ++seen_;
    if (of_memory_ && (!sample.access.address || sample.fetch)) return;
    ++fitting_;
    const Session& session = source_.session();
    if (!session.threads().Wants(sample.tid, session.options().selection)) return;
    if (!limits_.FitsThread(sample.tid)) return;
    const uint64_t time = TimeOf(sample, source_.session().clock());
    const bool is_in = limits_.begin.begin == 0 && limits_.begin.end == UINT64_MAX;
    if (!is_in && (time == 0 || !limits_.begin.Contains(time))) return;
    if (samples_.size() == kMost)
      is_full_ = true;
    else
      samples_.push_back(sample);
  }

  Result<std::vector<EventSample>> Take() {
    const std::string& path = source_.session().recording().path;
    if (is_full_)
      return Fail(Error(ErrorCode::kUnsupported, path + ": has more samples than the " +
                                                     std::to_string(kMost) + " that a query holds")
                      .Remedy("limit their time or thread: WHERE time BETWEEN A AND B"));
    if (fitting_ != 0) return std::move(samples_);
    if (of_memory_) {
      AccessReport none;
      none.samples = seen_;
      return Fail(NoAccesses(source_.session().recording(), none));
    }
    return Fail(Error(ErrorCode::kUnsupported, path + ": holds no samples")
                    .Remedy("the tables calls and branches; perf record -d -W -e ibs_op//p -- CMD "
                            "records samples"));
  }

 private:
  static constexpr size_t kMost = size_t{1} << 22;

  QuerySource& source_;
  const QueryLimits& limits_;
  const bool of_memory_;
  std::vector<EventSample> samples_;
  uint64_t seen_ = 0;
  uint64_t fitting_ = 0;
  bool is_full_ = false;
};

// Adds the samples in the trace.
class TracedCollector final : public PlayConsumer {
 public:
  explicit TracedCollector(Collector& collector)
      : assembler_([&collector](const EventSample& sample) { collector.Add(sample); }) {}

  void OnThreadBegin(const ThreadFlow& thread, size_t) override {
    assembler_.BeginThread(thread.pid, thread.tid);
  }
  void OnThreadEnd(const ThreadFlow&, size_t) override { assembler_.EndThread(); }
  void OnBlock(const BlockRun&) override {}
  void OnBlocks(const BlockBatch&) override {}
  void OnEvent(const TraceEvent& event) override { assembler_.OnEvent(event); }
  void OnLoss(const DataLoss&) override { assembler_.OnLoss(); }

 private:
  SampleAssembler assembler_;
};

EventSample SampleOf(const CallSample& call) {
  EventSample sample;
  sample.ip = call.ip;
  sample.event = call.event;
  sample.pid = call.pid;
  sample.tid = call.tid;
  sample.cpu = call.cpu;
  sample.time = call.time;
  if (call.ip != 0) sample.place = EventSample::Place::kSkid;
  return sample;
}

EventSample SampleOf(const StreamSample& taken, const Stream& stream) {
  EventSample sample;
  sample.ip = taken.ip;
  sample.pid = stream.pid;
  sample.tid = stream.tid;
  sample.cpu = stream.cpu;
  sample.tsc = taken.tsc;
  if (taken.ip != 0) sample.place = EventSample::Place::kSkid;
  return sample;
}

// Adds the samples beside the trace, or those that the trace consists of. A record with an access,
// callers and branches is one sample: the richest come first.
Status AddRecorded(Session& session, Collector& collector) {
  const Recording& recording = session.recording();
  const auto add = [&](const EventSample& sample) { collector.Add(sample); };
  if (HasAccessSamples(recording)) return VisitSamples(recording, add);
  if (const CallSamples* calls = CallSamplesOf(recording.config); calls != nullptr) {
    for (const CallSample& call : calls->samples) collector.Add(SampleOf(call));
    return {};
  }
  if (session.source_or_null() == nullptr || !session.source().samples()) return {};
  for (const Stream& stream : recording.streams)
    session.source().VisitSamples(
        stream, {0, stream.bytes.size()},
        [&](const StreamSample& sample) { collector.Add(SampleOf(sample, stream)); });
  return {};
}

}  // namespace

uint64_t TimeOf(const EventSample& sample, const RecordingClock& clock) {
  return sample.tsc != 0 ? clock.Value(sample.tsc) : sample.time;
}

Result<std::vector<EventSample>> FindSamples(QuerySource& source, const QueryLimits& limits,
                                             bool of_memory) {
  Session& session = source.session();
  Collector collector(source, limits, of_memory);
  if (Status status = AddRecorded(session, collector); !status) return Fail(status.error());
  // Branch stacks hold no samples of events.
  if (session.has_inputs() && !session.source().samples()) {
    TracedCollector traced(collector);
    if (Status status = session.Play(traced); !status) return Fail(status.error());
  }
  return collector.Take();
}

}  // namespace flowback
