// SPDX-License-Identifier: MIT
// The state of a process's own tracing. A process has only one, for all callers: the C functions
// have no object to name another.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "capture/self/open_regions.h"
#include "capture/self/recorder_process.h"
#include "capture/self/region_counts.h"
#include "flowback/self.h"

namespace flowback::self {

class Tracing {
 public:
  // The process's; never taken away, for threads may be in regions to the very end.
  static Tracing& OfProcess();

  // Each false: `why` is set.
  bool Start(const flowback_self_options& options, std::string& why);
  // Sends a command of `--control`: "enable". `lines`: the answer before the acknowledgement.
  bool Ask(const std::string& command, std::string& why, std::vector<std::string>* lines = nullptr);
  bool Stop(std::string& why);
  // Counters as they are now; empty: `why` is set.
  std::vector<flowback_self_counter> Counters(std::string& why);
  bool is_recording() const { return on_; }
  // `flowback record --regions` runs this process.
  bool is_by_regions() const { return by_regions_; }

  // Counts for the calling thread, whose latest region has begun, or is about to end.
  void BeginCounted(OpenRegions& open);
  void EndCounted(OpenRegions& open);

 private:
  Tracing();
  bool StartRecorder(const flowback_self_options& options, std::string& why);
  bool HasRecorder(std::string& why) const;
  bool Tell(const std::string& command, std::string& why,
            std::vector<std::string>* lines = nullptr);
  void EnterRecorded(OpenRegions& open);
  void LeaveRecorded(OpenRegions& open);
  void Ended(const std::string& why);
  void AfterForkInChild();

  std::mutex mutex_;  // over what follows
  std::optional<RecorderProcess> recorder_;
  std::optional<RegionCounts> counts_;
  std::string why_ended_;    // why there is no recorder any more
  unsigned in_regions_ = 0;  // threads, where regions alone are recorded
  bool forked_ = false;      // from a process that is recorded
  bool by_regions_ = false;
  bool turned_off_ = false;  // by the environment

  std::atomic<bool> on_ = false;
  std::atomic<bool> regions_only_ = false;
  std::atomic<uint64_t> recording_ = 0;  // its number
};

// Whether anything is to be done at regions beside their marks.
extern std::atomic<bool> counts_regions;

}  // namespace flowback::self
