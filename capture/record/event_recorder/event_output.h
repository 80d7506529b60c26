// SPDX-License-Identifier: MIT
// Where the kernel's records go: a file, or one after the other.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "capture/record/event_recorder/event_file.h"
#include "capture/record/events/event_set.h"
#include "capture/record/output/older_recording.h"

namespace flowback::record {

class EventOutput {
 public:
  // `kernel` must outlive it.
  EventOutput(const RecordOptions& options, kernel::SystemKernel& kernel);

  // Begins the file with the header and what runs already; `command` waits for its exec, -1: none
  // does. An older file of its name makes way, with a line in `notes`. Errors: kPermission,
  // kSystem.
  Status Open(const EventSet& events, const std::vector<kernel::Pmu>& pmus, pid_t command,
              std::vector<std::string>& notes);
  // The recording does not begin, and costs no older one.
  void GiveBack();
  // It does.
  void Began();

  EventFile& file() { return *file_; }
  // Size of all files so far.
  uint64_t size() const { return finished_bytes_ + (file_ ? file_->size() : 0); }

  // Whether this file is as large or as old as files are to be (RecordRotation).
  bool IsDue() const;
  // Ends this file, which gets its time as a name, and begins another, with what `runs` then.
  Status Switch(const EventSet& events, const std::vector<kernel::Pmu>& pmus,
                const std::vector<pid_t>& runs);
  // What files there are, the last excepted; for the user.
  uint64_t switched() const { return switched_; }
  Status Finish();

 private:
  Status Create(const EventSet& events, const std::vector<kernel::Pmu>& pmus);
  Status Rename();
  std::string FreeName() const;

  Status CopyKernelCode();

  RecordOptions options_;  // `output` is the file's name, also where the recording is a folder
  kernel::SystemKernel& kernel_;
  const std::string folder_;  // empty: the recording is a file
  bool made_folder_ = false;
  OlderRecording older_;
  std::optional<EventFile> file_;
  uint64_t finished_bytes_ = 0;
  uint64_t switched_ = 0;
  std::chrono::steady_clock::time_point begun_;
  std::deque<std::string> names_;  // of files that are there, the oldest first
};

}  // namespace flowback::record
