// SPDX-License-Identifier: MIT
// Takes from a core dump's values a thread's system calls, the mutexes that it holds and the mutex
// that it waits for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "replay/crash/crash_report.h"
#include "replay/debug/values/past_values.h"
#include "replay/symbols/elf/data_names.h"

namespace flowback {

class ThreadValues {
 public:
  // All must outlive it.
  ThreadValues(const CrashInput& input, PastValues& past, DataNames& names)
      : input_(input), past_(past), names_(names) {}

  // Fills in the values proven at the end of the machine's thread, with at most `last` system
  // calls.
  void Tell(size_t thread, size_t last, CrashThread& told);

 private:
  // What the thread waited for in the dump of a process that ran on.
  void TellDumpedWait(size_t thread, CrashThread& told);
  // `end`: the number of the thread's instructions before the place.
  void TellMutexes(size_t thread, const PastValues::Place& place, uint64_t end, CrashThread& told);

  const CrashInput& input_;
  PastValues& past_;
  DataNames& names_;
};

// Returns the cursor's time before the n-th instruction of a machine's thread; 0: not known.
uint64_t TimeOf(const CrashInput& input, size_t thread, uint64_t number);

// Returns the name of data with its offset: "queue+0x10"; empty: no symbol covers the address.
std::string DataNameOf(DataNames& names, const AddressSpace& space, uint64_t address);

}  // namespace flowback
