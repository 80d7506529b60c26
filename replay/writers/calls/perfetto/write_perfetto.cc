// SPDX-License-Identifier: MIT
// Each call as a slice of Perfetto's own format (ui.perfetto.dev, trace_processor): protobuf
// packets of TrackEvents. A thread has its calls, what it did while it had no flow, and a counter
// of its instructions.
#include <algorithm>
#include <string>
#include <string_view>

#include "replay/writers/calls/exported_calls.h"
#include "replay/writers/calls/perfetto/perfetto_packets.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

using Event = PerfettoPackets::Event;

// The number of counter values over the recording's time.
constexpr uint64_t kCounterSteps = 4096;

std::string_view NameOf(Absence::Kind kind) {
  return kind == Absence::Kind::kOffCpu ? "off CPU" : "untraced code, as the kernel's";
}

class PerfettoCalls final : public CallsTeller {
 public:
  PerfettoCalls(std::optional<TimeSpan> span, TextSink& sink)
      : sink_(sink),
        packets_(sink),
        counter_step_(span ? (span->end - span->begin) / kCounterSteps + 1 : 0) {}
  void Use(const ExportedCalls& calls) { calls_ = &calls; }

  void OnThread(const ExportedThread& thread) override {
    packets_.BeginThread(thread);
    absent_until_ = next_count_ = 0;
  }
  void OnEnter(const ExportedEntry& entry) override {
    packets_.Begin(Event::TYPE_SLICE_BEGIN, entry.time);
    packets_.NameFunction(entry.function, calls_->functions()[entry.function]);
    if (entry.again) packets_.Annotate("continued", 1);
    packets_.End();
    if (counter_step_ != 0 && entry.time >= next_count_) Count(entry.time);
  }
  void OnExit(const ExportedExit& exit) override {
    packets_.Begin(Event::TYPE_SLICE_END, exit.time);
    if (!exit.goes_on) {
      packets_.Annotate("instructions", exit.instructions);
      packets_.Annotate("self instructions", exit.self);
    }
    packets_.End();
  }
  void OnLoss(std::string_view cause, uint64_t time) override {
    packets_.Begin(Event::TYPE_INSTANT, time).set_name("lost: " + std::string(cause));
    packets_.End();
  }
  // Estimates may overlap by some ticks, but slices of a track may not.
  void OnAbsence(const Absence& absence) override {
    const uint64_t begin = std::max(absence.begin, absent_until_);
    if (begin >= absence.end) return;
    absent_until_ = absence.end;
    packets_.NeedTrack(PerfettoTrack::kState, "state");
    packets_.Begin(Event::TYPE_SLICE_BEGIN, begin, PerfettoTrack::kState)
        .set_name(std::string(NameOf(absence.kind)));
    packets_.End();
    packets_.Begin(Event::TYPE_SLICE_END, absence.end, PerfettoTrack::kState);
    packets_.End();
  }
  void OnThreadEnd(uint64_t time) override {
    if (counter_step_ != 0 && next_count_ != 0) Count(time);
  }
  bool Done() const override { return sink_.closed(); }

 private:
  void Count(uint64_t time) {
    packets_.NeedTrack(PerfettoTrack::kInstructions, "instructions");
    packets_.Begin(Event::TYPE_COUNTER, time, PerfettoTrack::kInstructions)
        .set_counter_value(static_cast<int64_t>(calls_->instructions()));
    packets_.End();
    next_count_ = time + counter_step_;
  }

  TextSink& sink_;
  PerfettoPackets packets_;
  const ExportedCalls* calls_ = nullptr;
  const uint64_t counter_step_;  // 0: there are no times
  // State of the current thread.
  uint64_t absent_until_ = 0;
  uint64_t next_count_ = 0;
};

}  // namespace

Status WritePerfetto(const FlowExport& input, TextSink& sink) {
  PerfettoCalls perfetto(input.session.Span(), sink);
  ExportedCalls calls(input, perfetto);
  perfetto.Use(calls);
  const Status status = calls.Tell();
  sink.Commit();
  return status;
}

}  // namespace flowback
