// SPDX-License-Identifier: MIT
// Makes the threads' stays on each CPU from the kernel's records of scheduling.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "flowback/decode/schedule.h"
#include "flowback/model/recording.h"

namespace flowback {

// The stays on each CPU that a record names. They do not have their code yet.
class StaysOfCpus {
 public:
  // `records` in time order.
  explicit StaysOfCpus(const std::vector<SidebandRecord>& records);

  // Empty when no record names the CPU.
  const std::vector<ThreadStay>& Of(int32_t cpu) const;
  // All stays are of one thread.
  bool OneThread() const { return one_thread_; }
  // No record names another thread. Some stays may be nobody's all the same: where records are
  // missing, or contain where the thread was seen but not when it left.
  bool NameOnly(int32_t tid) const { return !reused_ && named_ == std::set<int32_t>{tid}; }

 private:
  struct Cpu {
    int32_t number = -1;
    std::vector<ThreadStay> stays;
    bool running = false;  // the last stay has not ended yet
    bool has_switches = false;
    bool by_start = false;  // an ITRACE_START says so, and no switch yet
    uint64_t exit = 0;      // when the thread that runs said that it ends; 0: it did not
    uint64_t out = 0;       // when the last one ended
    int32_t next = -1;      // who comes, by the record of that; -1: unknown
  };

  void On(const SwitchRecord& record);
  void On(const ItraceStartRecord& record);
  void On(const ExitRecord& record);
  template <class Other>
  void On(const Other&) {}

  Cpu& At(int32_t number);
  static bool SaidTwice(const Cpu& cpu, const SidebandBase& who, int32_t previous);
  static void SwitchIn(Cpu& cpu, const SidebandBase& who, int32_t previous);
  static void SwitchOut(Cpu& cpu, const SidebandBase& who, int32_t next);
  static void EndUnseen(Cpu& cpu, const SidebandBase& who, int32_t previous);
  void DropUnprovenStarts(const std::vector<SidebandRecord>& records);
  void DropImpossible();
  void LookForOthers(const std::vector<SidebandRecord>& records);

  std::vector<Cpu> cpus_;  // by number
  bool one_thread_ = true;
  std::set<int32_t> named_;  // threads
  bool reused_ = false;      // the only one's number, by another one later
};

}  // namespace flowback
