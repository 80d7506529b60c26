// SPDX-License-Identifier: MIT
// The clocks of an emulated trace: a time-stamp counter, the host's or one that counts
// instructions, and a crystal clock derived from it.
#pragma once

#include <atomic>
#include <cstdint>

#include "flowback/model/machine.h"

namespace flowback::record {

// The crystal clock is invented, because the host may not reveal its own: about 25 MHz, so that TSC
// ticks per crystal tick is a whole number. Decoders learn the ratio from the recording. Immutable,
// but for the count that an instruction clock shows. Any thread may use it.
class TraceClock {
 public:
  // An instruction clock begins here: perf takes time 0 for none.
  static constexpr uint64_t kFirstTick = 1'000'000'000;

  // Takes perf's own conversion of ticks to nanoseconds where the kernel gives it out, so that
  // times agree with other perf recordings of this boot; else measures against CLOCK_MONOTONIC for
  // 10 ms.
  static TraceClock ForThisMachine();
  // A tick, one nanosecond, for each instruction that any thread of the recording executes and for
  // each record of its sideband: all threads see one order of time, and a program of one thread
  // gets the same times whenever it does the same. `ticks`, from 0, must outlive the clock.
  static TraceClock OfInstructions(std::atomic<uint64_t>& ticks);
  // Another process's clock, by its conversion.
  explicit TraceClock(TimeConversion conversion);
  // For tests.
  TraceClock(TimeConversion conversion, uint64_t ticks_per_second);

  // The host's time-stamp counter.
  static uint64_t HostNow() { return __builtin_ia32_rdtsc(); }
  bool counts_instructions() const { return ticks_ != nullptr; }
  uint64_t Now() const { return ticks_ == nullptr ? HostNow() : kFirstTick + ticks_->load(); }
  // The time after `count` more ticks. REQUIRES: counts_instructions().
  uint64_t Advance(uint64_t count) const { return kFirstTick + ticks_->fetch_add(count) + count; }
  // A time of its own for a record: on an instruction clock later than all earlier ones.
  uint64_t Tick() const { return counts_instructions() ? Advance(1) : HostNow(); }

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
  std::atomic<uint64_t>* ticks_ = nullptr;  // null: the host's clock
  uint32_t tsc_per_crystal_tick_;
  uint8_t nominal_ratio_;
};

}  // namespace flowback::record
