// SPDX-License-Identifier: MIT
// Recording with the kernel's events: traces of Intel PT, samples with branch stacks, counters,
// tracepoints.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/record/event_counters.h"
#include "capture/record/event_file.h"
#include "capture/record/event_set.h"
#include "capture/record/paused_command.h"
#include "capture/record/recorder.h"

namespace flowback::record {

class EventRecorder : public Recorder {
 public:
  // Both must outlive it.
  EventRecorder(const RecordOptions& options, kernel::SystemKernel& kernel)
      : options_(options), kernel_(kernel) {}

  Result<pid_t> Start(RecordSession& session) override;
  Result<RecordSummary> Run() override;
  void RequestStop() override { stop_ = true; }
  void RequestSnapshot() override { snapshot_ = true; }

 private:
  Status OpenEvents();
  Status OpenFile();
  Status Begin();
  void GiveFileBack();
  Status Drain();
  Status TakeTrace(const EventSet::Buffer& buffer, uint32_t index);
  Status TakeSnapshot();
  bool CommandEnded();
  Result<RecordSummary> Summary(Status written);

  const RecordOptions& options_;
  kernel::SystemKernel& kernel_;
  RecordSession* session_ = nullptr;
  std::vector<kernel::Pmu> pmus_;
  std::optional<PausedCommand> command_;
  std::optional<int> command_status_;  // it ended
  std::optional<EventSet> events_;
  std::optional<EventFile> file_;
  std::optional<EventCounters> counters_;
  bool kept_older_ = false;  // the file took the place of another
  std::vector<std::string> notes_;
  EventCounts counts_;
  uint64_t trace_bytes_ = 0;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> snapshot_ = false;
};

// The words for events that an engine's name stands for, on this machine. Errors: kNoHardware.
Result<std::vector<std::string>> EventsOfEngine(const std::string& engine,
                                                const std::vector<kernel::Pmu>& pmus);

}  // namespace flowback::record
