// SPDX-License-Identifier: MIT
// The clocks of an emulated trace: the host's time-stamp counter, and a crystal clock derived from
// it.
#pragma once

#include <cstdint>

#include "flowback/model/machine.h"

namespace flowback::record {

// Immutable. The crystal clock is invented, for the host may not tell its own: about 25 MHz, so
// that TSC ticks per crystal tick is a whole number. Decoders learn the ratio from the recording.
class TraceClock {
 public:
  // Takes perf's own conversion of ticks to nanoseconds where the kernel gives it out, so that
  // times agree with other perf recordings of this boot; else measures against CLOCK_MONOTONIC for
  // 10 ms.
  static TraceClock ForThisMachine();
  // Another process's clock, by its conversion.
  explicit TraceClock(TimeConversion conversion);
  // For tests.
  TraceClock(TimeConversion conversion, uint64_t ticks_per_second);

  static uint64_t Now() { return __builtin_ia32_rdtsc(); }  // time-stamp counter

  const TimeConversion& conversion() const { return conversion_; }
  uint64_t ToNanoseconds(uint64_t tsc) const { return conversion_.ToNanoseconds(tsc); }
  uint32_t tsc_per_crystal_tick() const { return tsc_per_crystal_tick_; }
  uint64_t CrystalTicks(uint64_t tsc) const { return tsc / tsc_per_crystal_tick_; }
  // TSC ticks since the last crystal tick: TMA's fast counter.
  uint16_t FastCounter(uint64_t tsc) const {
    return static_cast<uint16_t>(tsc % tsc_per_crystal_tick_);
  }
  // TSC frequency over the 100 MHz bus clock: CBR of a core that runs at TSC speed.
  uint8_t nominal_ratio() const { return nominal_ratio_; }

 private:
  TimeConversion conversion_;
  uint32_t tsc_per_crystal_tick_;
  uint8_t nominal_ratio_;
};

}  // namespace flowback::record
