// SPDX-License-Identifier: MIT
// What a core dump's values tell of a thread: its system calls, the mutexes that it holds and the
// one that it waits for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "replay/crash/crash_report.h"
#include "replay/debug/past_values.h"
#include "replay/symbols/data_names.h"

namespace flowback {

class ThreadValues {
 public:
  // All must outlive it.
  ThreadValues(const CrashInput& input, PastValues& past, DataNames& names)
      : input_(input), past_(past), names_(names) {}

  // Fills in what is proven at the end of the machine's thread; `last` system calls at most.
  void Tell(size_t thread, size_t last, CrashThread& told);

 private:
  void TellMutexes(size_t thread, const PastValues::Place& place, CrashThread& told);

  const CrashInput& input_;
  PastValues& past_;
  DataNames& names_;
};

// The cursor's time before the n-th instruction of a machine's thread; 0: it is not known.
uint64_t TimeOf(const CrashInput& input, size_t thread, uint64_t number);

// The name of data with its offset: "queue+0x10"; empty: no symbol covers it.
std::string DataNameOf(DataNames& names, const AddressSpace& space, uint64_t address);

}  // namespace flowback
