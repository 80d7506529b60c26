// SPDX-License-Identifier: MIT
#include "capture/formats/input/stream_owner.h"

#include <set>
#include <unordered_map>

namespace flowback {
namespace {

struct Threads {
  std::set<int32_t> pids;
  std::unordered_map<int32_t, int32_t> pid_of_tid;

  void Add(int32_t pid, int32_t tid) {
    if (pid <= 0 || tid <= 0) return;  // the idle task, the kernel, or unknown
    pids.insert(pid);
    pid_of_tid.emplace(tid, pid);
  }
};

// Records about the kernel's code come from the thread that changed it.
bool IsAboutTheKernel(const SidebandRecord& record) {
  return std::holds_alternative<KsymbolRecord>(record) ||
         std::holds_alternative<BpfEventRecord>(record) ||
         std::holds_alternative<TextPokeRecord>(record) ||
         std::holds_alternative<CgroupRecord>(record);
}

// A CPU-wide switch record names any thread of the machine, traced or not.
bool NamesTracedThread(const SidebandRecord& record) {
  if (IsAboutTheKernel(record)) return false;
  const auto* change = std::get_if<SwitchRecord>(&record);
  return !change || (change->other_pid == -1 && change->other_tid == -1);
}

Threads TracedThreads(const Recording& recording) {
  Threads threads;
  for (const SidebandRecord& record : recording.sideband) {
    if (!NamesTracedThread(record)) continue;
    std::visit([&](const SidebandBase& base) { threads.Add(base.pid, base.tid); }, record);
    if (const auto* fork = std::get_if<ForkRecord>(&record)) {
      threads.Add(fork->parent_pid, fork->parent_tid);
    }
  }
  return threads;
}

}  // namespace

void AssignOwners(Recording& recording) {
  const Threads threads = TracedThreads(recording);
  for (Stream& stream : recording.streams) {
    if (stream.tid >= 0) {
      if (stream.pid >= 0) continue;
      const auto found = threads.pid_of_tid.find(stream.tid);
      if (found != threads.pid_of_tid.end()) stream.pid = found->second;
      continue;
    }
    if (threads.pids.size() == 1) stream.pid = *threads.pids.begin();
    if (threads.pid_of_tid.size() == 1) stream.tid = threads.pid_of_tid.begin()->first;
  }
}

}  // namespace flowback
