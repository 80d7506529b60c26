// SPDX-License-Identifier: MIT
// Each call as a slice of Perfetto's own format (ui.perfetto.dev, trace_processor): protobuf
// packets of TrackEvents. A thread has its calls, what it did while it had no flow, and a counter
// of its instructions.
#include <optional>
#include <string>
#include <string_view>

#include "replay/writers/calls/exported_calls.h"
#include "replay/writers/calls/perfetto/perfetto_packets.h"
#include "replay/writers/calls/perfetto/perfetto_waits.h"
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
  // Without a span there is no counter.
  PerfettoCalls(std::optional<TimeSpan> span, TextSink& sink)
      : sink_(sink),
        packets_(sink),
        counter_step_(span ? (span->end - span->begin) / kCounterSteps + 1 : 0) {}
  void Use(const ExportedCalls& calls) { calls_ = &calls; }

  void OnThread(const ExportedThread& thread) override {
    packets_.BeginThread(thread);
    next_count_ = 0;
  }
  void OnEnter(const ExportedEntry& entry) override {
    const ExportedFunction& function = calls_->functions()[entry.function];
    if (entry.again) {
      packets_.Begin(Event::TYPE_SLICE_BEGIN, entry.time);
      packets_.NameFunction(entry.function, function);
      packets_.Annotate("continued", 1);
      packets_.End();
    } else {
      packets_.EnterCall(entry.time, entry.function, function);
    }
    if (counter_step_ != 0 && entry.time >= next_count_) Count(entry.time, entry.position);
  }
  void OnExit(const ExportedExit& exit) override {
    if (exit.goes_on) {
      packets_.Begin(Event::TYPE_SLICE_END, exit.time);
      packets_.End();
    } else {
      packets_.ExitCall(exit.time, exit.instructions, exit.self);
    }
    last_ = exit;
  }
  void OnLoss(std::string_view cause, uint64_t time) override {
    packets_.Begin(Event::TYPE_INSTANT, time).set_name("lost: " + std::string(cause));
    packets_.End();
  }
  void OnAbsence(const Absence& absence) override {
    packets_.NeedTrack(PerfettoTrack::kState, "state");
    packets_.Begin(Event::TYPE_SLICE_BEGIN, absence.begin, PerfettoTrack::kState)
        .set_name(std::string(NameOf(absence.kind)));
    packets_.End();
    packets_.Begin(Event::TYPE_SLICE_END, absence.end, PerfettoTrack::kState);
    packets_.End();
  }
  void OnThreadEnd(uint64_t) override {
    if (counter_step_ != 0 && next_count_ != 0) Count(last_.time, last_.position);
  }
  bool Done() const override { return sink_.closed(); }
  PerfettoPackets& packets() { return packets_; }

 private:
  void Count(uint64_t time, uint64_t instructions) {
    packets_.NeedTrack(PerfettoTrack::kInstructions, "instructions");
    packets_.Begin(Event::TYPE_COUNTER, time, PerfettoTrack::kInstructions)
        .set_counter_value(static_cast<int64_t>(instructions));
    packets_.End();
    next_count_ = time + counter_step_;
  }

  TextSink& sink_;
  PerfettoPackets packets_;
  const ExportedCalls* calls_ = nullptr;
  const uint64_t counter_step_;  // 0: there is no counter
  // State of the current thread.
  uint64_t next_count_ = 0;
  ExportedExit last_;
};

}  // namespace

Status WritePerfetto(const CallsExport& input, TextSink& sink) {
  PerfettoCalls perfetto(input.calls.calls_only ? std::nullopt : input.session.Span(), sink);
  ExportedCalls calls(input, perfetto);
  perfetto.Use(calls);
  const Status status = calls.Tell();
  if (input.waits != nullptr && status && !sink.closed())
    WritePerfettoWaits(*input.waits, input.calls.span, perfetto.packets());
  sink.Commit();
  return status;
}

}  // namespace flowback
