// SPDX-License-Identifier: MIT
// Events that are opened of all that is to be recorded, with their buffers.
#pragma once

#include <poll.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "capture/kernel/event_plan.h"
#include "capture/record/events/event_ring.h"
#include "capture/record/events/event_target.h"
#include "capture/record/perf_data/perf_data_header.h"
#include "flowback/model/counters.h"

namespace flowback::record {

struct BufferSizes {
  uint64_t records = 0;  // bytes, a power of two of pages
  uint64_t trace = 0;    // the same, of AUX data
};

// Closes them when it goes. Movable.
class EventSet {
 public:
  // Opens the planned events of each thread on each CPU, the leader of a group first. Features that
  // an older kernel lacks are left out, and parts of the kernel that this user may not record,
  // unless the user asked for them. `notes` gets a sentence for each.
  static Result<EventSet> Open(kernel::SystemKernel& kernel, std::vector<kernel::PlannedEvent> plan,
                               const EventTarget& target, std::vector<std::string>& notes);
  EventSet(EventSet&& other) noexcept = default;
  EventSet& operator=(EventSet&&) = delete;
  ~EventSet();

  // One buffer for each CPU, or each thread. Where locked memory does not suffice, they are made
  // smaller. Errors: kPermission, kSystem.
  Status Map(BufferSizes sizes, bool overwrite_trace, std::vector<std::string>& notes);
  // Enables events that no exec enables; if `delayed`, only those that track tasks and mappings.
  Status Enable(bool delayed = false);
  void Disable();
  // Switches the events of that name, or all, but for what tracks. Returns how many kinds they are.
  size_t Switch(bool on, std::string_view name);
  // Stops traces only: the kernel writes no AUX data until they are started again. Disabled ones
  // stay disabled.
  void StopTraces() { ControlTraces(PERF_EVENT_IOC_DISABLE); }
  void StartTraces() { ControlTraces(PERF_EVENT_IOC_ENABLE); }
  // The counters of those that count, as they are now.
  struct Reading {
    size_t event = 0;  // in the plan
    int cpu = -1;
    pid_t thread = -1;
    uint64_t id = 0;
    CounterValue value;
  };
  std::vector<Reading> ReadCounters() const;
  // Returns the number of records that found no room so far, with or without a LOST record; 0 where
  // the kernel does not count them (before Linux 6.0).
  uint64_t ReadLost() const;
  // Waits until a buffer has something, or `other`, a descriptor, can be read, or for so long.
  // False: nothing more will come, for all that was recorded has ended.
  bool Wait(int milliseconds, int other = -1);

  struct Buffer {
    int cpu = -1;
    pid_t thread = -1;
    EventRing ring;
  };
  const std::vector<Buffer>& buffers() const { return buffers_; }
  const std::vector<kernel::PlannedEvent>& plan() const { return plan_; }
  RecordedEvents Recorded() const;
  BufferSizes sizes() const { return sizes_; }
  // All threads on the CPUs are recorded.
  bool of_cpus() const { return of_cpus_; }

 private:
  struct Opened {
    size_t event = 0;  // in the plan
    int cpu = -1;
    pid_t thread = -1;
    int descriptor = -1;
    uint64_t id = 0;
  };

  EventSet(kernel::SystemKernel& kernel, std::vector<kernel::PlannedEvent> plan)
      : kernel_(&kernel), plan_(std::move(plan)) {}
  Status OpenAll(const EventTarget& target, std::vector<std::string>& notes);
  // The first that was.
  struct Refused {
    size_t event = 0;
    int cpu = -1;
    kernel::Errno error = 0;
  };
  std::optional<Refused> TryOpen(const EventTarget& target);
  void AnchorCounts(const EventTarget& target, std::vector<std::string>& notes);
  kernel::Errno OpenOne(size_t event, pid_t thread, int cpu);
  void CloseAll();
  bool OfWhoever(size_t event) const;
  void ControlTraces(unsigned long request);
  bool IsElsewhere(size_t event, int cpu) const;
  int LeaderOf(size_t event, pid_t thread, int cpu) const;
  bool LeavesOut(kernel::Errno error, std::vector<std::string>& notes);
  bool GoesWithoutKernel(kernel::Errno error, std::vector<std::string>& notes);
  bool LeavesCpuOut(const Refused& refused, EventTarget& target, std::vector<std::string>& notes);
  bool LowersPrecision(const Refused& refused);
  bool GoesWithoutCounter(const Refused& refused, std::vector<std::string>& notes);
  bool BreaksWeakGroup(const Refused& refused);
  Status SetFilters();
  kernel::Called<int> FolderOf(const std::string& cgroup);
  std::vector<const Opened*> OfBuffer(const Opened& first) const;
  const Opened& OwnerOf(const Opened& first) const;
  kernel::Called<int> TryMap(bool overwrite_trace);
  bool HasTrace() const;
  size_t WantedBuffers() const;
  void WatchAll();

  kernel::SystemKernel* kernel_;
  std::vector<kernel::PlannedEvent> plan_;
  std::vector<int> anchors_;  // descriptors: see AnchorCounts
  std::vector<Opened> opened_;
  std::vector<Buffer> buffers_;
  std::vector<pollfd> waiting_;         // every event: each signals the end of its own thread
  std::set<size_t> off_;                // of the plan: events that are switched off
  std::map<std::string, int> folders_;  // of control groups, open
  BufferSizes sizes_;
  bool per_thread_ = false;
  bool of_cpus_ = false;
};

}  // namespace flowback::record
