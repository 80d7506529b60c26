// SPDX-License-Identifier: MIT
// A kernel that plays any machine: its files are a tree's, its events open, fail and fill their
// buffers by perf_event_open's rules, and its hardware is a function of the test.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "capture/kernel/machine_tree.h"
#include "capture/kernel/pmu.h"
#include "tests/support/kernel/simulated_ring.h"
#include "tests/support/kernel/simulated_sample.h"

namespace flowback::test {

class SimulatedKernel : public kernel::TreeKernel {
 public:
  explicit SimulatedKernel(kernel::MachineTree tree);

  // ---- what the test decides ----
  kernel::MachineTree& tree() { return tree_; }
  // Adds a process with one thread. The kernel starts without processes.
  void AddProcess(pid_t pid);
  // All there are: a command's number is not known before.
  void HasAnyProcess() { any_process_ = true; }
  // Whoever records may do anything.
  void GiveAllRights();
  // It is another user's.
  void TakeAway(pid_t pid) { foreign_.insert(pid); }
  // It ends: its events hang up.
  void EndProcess(pid_t pid) { ended_.insert(pid); }
  // The next call of its kind fails so.
  void FailOpen(kernel::Errno error) { open_errors_.push_back(error); }
  void FailMap(kernel::Errno error) { map_errors_.push_back(error); }
  // How much an unprivileged user may lock, how many files may be open, how many attributes' bytes
  // it knows.
  uint64_t lockable_bytes = uint64_t{1} << 40;
  size_t most_descriptors = 1024;
  uint32_t known_attr_size = PERF_ATTR_SIZE_VER7;
  // How many events a group may have.
  size_t most_in_group = 8;
  // Linux 6.13 does.
  bool knows_aux_actions = true;
  // What SET_FILTER says; 0: it takes it.
  kernel::Errno filter_error = 0;
  // Whether anybody else has the tracing hardware.
  bool trace_is_taken = false;
  // Whether the processor's unit counts nothing, as in some virtual machines.
  bool has_no_counters = false;
  // Called by each OpenEvent first, with how many were called before.
  std::function<void(size_t)> before_open;
  // It is not there any more.
  void RemoveProcess(pid_t pid) { processes_.erase(pid); }
  // What the hardware does meanwhile. False: all that was recorded has ended. Each Wait calls it
  // until a buffer wakes the reader, or `turns_of_wait` times. Then it calls it another
  // `turns_too_late` times: the reader is late.
  std::function<bool()> meanwhile;
  size_t turns_of_wait = 1;
  size_t turns_too_late = 0;
  // Time goes on.
  void Elapse(uint64_t nanoseconds) { time_ += nanoseconds; }

  // ---- what it did ----
  struct Event {
    perf_event_attr attr{};
    pid_t pid = -1;
    int cpu = -1;
    int group = -1;
    uint64_t id = 0;
    bool enabled = false;
    bool overwrites = false;  // its AUX data
    uint64_t count = 0, time_enabled = 0, time_running = 0;
    bool of_cgroup = false;
    std::shared_ptr<SimulatedRing> ring;
    std::string filter = {};
  };
  const std::map<int, Event>& events() const { return events_; }
  // The first event of that type; null: none is open.
  Event* FindEvent(uint32_t type);
  // Finds the event of that configuration, on that CPU (-1: on none).
  Event* FindEvent(uint32_t type, uint64_t config, int cpu);
  // Into the event's ring, as its attributes say.
  void Write(Event& event, uint32_t type, uint16_t misc, Bytes body);
  void WriteSample(Event& event, const SampleContent& content);
  std::vector<Event*> EventsOf(uint32_t type);
  size_t wake_ups() const { return wake_ups_; }
  size_t WriteAux(Event& event, Bytes data);
  // Acts as if the hardware had written the area's content again, `size` bytes of it. No hardware
  // is faster.
  size_t RepeatAux(Event& event, size_t size);
  void NoteAux(Event& event, uint64_t flags);

  kernel::Called<int> OpenEvent(perf_event_attr& attr, pid_t pid, int cpu, int group,
                                unsigned long flags) override;
  void CloseEvent(int event) override { events_.erase(event); }
  kernel::Called<std::span<uint8_t>> Map(int event, size_t size, uint64_t offset,
                                         bool writable) override;
  void Unmap(std::span<uint8_t> pages) override;
  kernel::Called<int> Control(int event, unsigned long request, uint64_t argument) override;
  kernel::Called<size_t> Read(int event, std::span<uint8_t> into) override;
  kernel::Called<int> Wait(std::span<pollfd> events, int milliseconds) override;

 private:
  kernel::Errno Refuses(const perf_event_attr& attr, pid_t pid, int cpu, int group);
  kernel::Errno ForbidsTo(const perf_event_attr& attr, pid_t pid) const;
  kernel::Errno CannotCount(const perf_event_attr& attr) const;
  std::vector<uint8_t> EndOf(const Event& event) const;
  bool WakesAny(std::span<pollfd> events);

  std::map<int, Event> events_;
  std::set<pid_t> processes_, foreign_, ended_;
  std::deque<kernel::Errno> open_errors_, map_errors_;
  size_t opens_ = 0;
  bool any_process_ = false;
  uint64_t locked_ = 0;
  size_t wake_ups_ = 0;
  int next_descriptor_ = 1000;
  uint64_t next_id_ = 1;
  uint64_t time_ = 1'000'000'000;
};

}  // namespace flowback::test
