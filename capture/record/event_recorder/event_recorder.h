// SPDX-License-Identifier: MIT
// Recording with the kernel's events: traces of Intel PT, samples with branch stacks, counters,
// tracepoints.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/record/control/control_channel.h"
#include "capture/record/control/recorder.h"
#include "capture/record/event_recorder/event_counters.h"
#include "capture/record/event_recorder/event_output.h"
#include "capture/record/event_recorder/slow_trigger.h"
#include "capture/record/events/event_choice.h"
#include "capture/record/events/event_set.h"
#include "capture/record/events/live_processes.h"
#include "capture/record/target/paused_command.h"

namespace flowback::record {

class EventRecorder : public Recorder {
 public:
  // Both must outlive it.
  EventRecorder(const RecordOptions& options, kernel::SystemKernel& kernel)
      : options_(options), kernel_(kernel), output_(options, kernel) {}

  Result<pid_t> Start(RecordSession& session) override;
  Result<RecordSummary> Run() override;
  void RequestStop() override { stop_ = true; }
  void RequestSnapshot() override { snapshot_ = true; }

 private:
  friend struct ControlRow;

  Status OpenEvents();
  Status Begin();
  Status Drain();
  void Look(const RingPart& records, size_t buffer);
  Status TakeTrace(const EventSet::Buffer& buffer, uint32_t index);
  bool keeps_latest() const { return options_.streams.snapshot_bytes.has_value(); }
  Status Round();
  Status TakeSnapshot();
  Status TakeSlowCalls();
  Status TakeLast();
  Status OnSignal();
  Status SwitchFiles();
  Status Heed(const ControlRequest& request);
  bool IsDelayed() const;
  int WaitMilliseconds() const;
  bool CommandEnded();
  Result<RecordSummary> Summary(Status written);
  void TellSlowCalls(RecordSummary& summary);
  void KeepRegions();
  std::vector<ProcessEnd> Ends();  // of a command that ended while it was recorded
  Status TellLost();

  // What comes through `--control`.
  Status OnEnable(const std::string& event) { return OnSwitch(true, event); }
  Status OnDisable(const std::string& event) { return OnSwitch(false, event); }
  Status OnSwitch(bool on, const std::string& event);
  Status OnSnapshot(const std::string&);
  Status OnEventList(const std::string&);
  Status OnPing(const std::string&);
  Status OnRegions(const std::string& path);
  Status OnStat(const std::string&);
  Status OnStop(const std::string&);

  const RecordOptions& options_;
  kernel::SystemKernel& kernel_;
  RecordSession* session_ = nullptr;
  std::vector<kernel::Pmu> pmus_;
  std::optional<PausedCommand> command_;
  std::optional<int> command_status_;  // it ended
  ProcessEnd command_end_;             // then
  std::optional<SlowTrigger> trigger_;
  std::optional<ControlChannel> control_;
  std::optional<EventSet> events_;
  std::optional<EventCounters> counters_;
  EventOutput output_;
  LiveProcesses live_;
  std::optional<std::chrono::steady_clock::time_point> begins_;  // events, which are delayed
  std::vector<std::string> notes_;
  Descriptor region_table_;  // of the program's, once it named one
  std::vector<NamedRegion> regions_;
  EventCounts counts_;
  uint64_t trace_bytes_ = 0;
  bool samples_trace_ = false;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> snapshot_ = false;
};

}  // namespace flowback::record
