// SPDX-License-Identifier: MIT
// Recordings of a kernel's locks. A program that builds its locks as kernels do is stepped while
// the judge plays the other processors; what it executed is then traced as a kernel's code would
// be, at the kernel's addresses, and read with a copy of its memory.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"
#include "tests/locks/executed_steps.h"

namespace flowback {

// Whether the instruction is PAUSE, TPAUSE or UMWAIT.
bool IsPause(const std::vector<uint8_t>& code);

// What a scene of programs/kernel_locks.c executes, at the kernel's addresses.
struct KernelScene {
  std::string error;
  std::vector<uint64_t> addresses;
  std::map<uint64_t, std::vector<uint8_t>> code;
  std::vector<size_t> switches;  // after so many instructions another thread may run

  // The instructions from after one switch, or the begin, to the next one or the end.
  std::vector<uint64_t> Part(size_t number) const;
};

// A thread's stay on a CPU.
struct KernelStay {
  int32_t pid = 0;
  int32_t tid = 0;
  std::vector<uint64_t> addresses;
  bool preempted = false;  // it could have gone on when it ended
};

// What happens on a CPU beside the instructions.
struct CpuHabits {
  std::map<uint64_t, uint64_t> delays;  // cycles that pass before the instruction at an address
  // The trace is lost from the one of the CPU's instructions to the other, counted from 0; none if
  // they are equal.
  size_t lost_from = 0;
  size_t lost_to = 0;
};

class KernelRecording {
 public:
  // Steps the scene; the recording is read with all code of the program. Functions of `in_user`
  // stay where the program has them, as user code.
  KernelScene Step(const std::string& scene, const std::set<std::string>& in_user = {});
  // The kernel's addresses of the program's functions, by name.
  const std::map<std::string, uint64_t>& functions();

  // Adds a CPU on which the stays follow each other. Each pause takes 40 cycles.
  void AddCpu(const std::vector<KernelStay>& stays, const CpuHabits& habits = {});
  // Runs `flowback locks --json`. The kernel's symbols are the program's; where `names` has one, it
  // goes by that name, and with no names at all there are no symbols. Returns null if it fails.
  nlohmann::json Locks(const std::map<std::string, std::string>& names,
                       std::vector<std::string> words = {});
  // When each delivered instruction executed on a CPU, in nanoseconds.
  const std::vector<uint64_t>& TimesOf(size_t cpu) const { return cpus_[cpu].times; }
  // When a CPU went from one stay to the next, and from the last one to nothing.
  std::vector<uint64_t> SwitchTimes(size_t cpu) const;

 private:
  struct Switch {
    uint64_t tsc = 0;
    int32_t cpu = 0;
    const KernelStay* from = nullptr;
    const KernelStay* to = nullptr;
  };
  struct Cpu {
    std::vector<KernelStay> stays;
    std::vector<uint8_t> trace;
    std::vector<uint64_t> times;
    uint64_t begin = 0;  // TSC
    std::vector<Switch> switches;
  };

  uint64_t OffsetOf(uint64_t address, const std::set<std::string>& in_user);
  std::string Write() const;
  std::string Symbols(const std::map<std::string, std::string>& names);

  test::ScratchFolder folder_;
  std::map<uint64_t, std::vector<uint8_t>> code_;
  std::map<std::string, uint64_t> functions_;
  std::vector<Cpu> cpus_;
};

}  // namespace flowback
