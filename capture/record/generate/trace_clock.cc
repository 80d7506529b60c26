// SPDX-License-Identifier: MIT
#include "capture/record/generate/trace_clock.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/descriptor.h"

namespace flowback::record {
namespace {

constexpr uint64_t kCrystalHz = 25'000'000;
constexpr uint64_t kBusHz = 100'000'000;
constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr uint32_t kMaxFastCounter = 0x1ff;  // TMA has nine bits for it

// The kernel's parameters, from the page of a software event that counts nothing.
std::optional<TimeConversion> PerfConversion() {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.exclude_kernel = 1;
  const Descriptor fd(static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0)));
  if (*fd < 0) return std::nullopt;
  const size_t page_size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* mapped = mmap(nullptr, page_size, PROT_READ, MAP_SHARED, *fd, 0);
  if (mapped == MAP_FAILED) return std::nullopt;
  const auto* page = static_cast<const perf_event_mmap_page*>(mapped);
  std::optional<TimeConversion> result;
  if (page->cap_user_time_zero)
    result = TimeConversion{page->time_shift, page->time_mult, page->time_zero};
  munmap(mapped, page_size);
  return result;
}

uint64_t MonotonicNanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNanosecondsPerSecond +
         static_cast<uint64_t>(now.tv_nsec);
}

TimeConversion MeasuredConversion() {
  const uint64_t begin_ns = MonotonicNanoseconds();
  const uint64_t begin_tsc = TraceClock::HostNow();
  const timespec pause{.tv_sec = 0, .tv_nsec = 10'000'000};
  nanosleep(&pause, nullptr);
  const uint64_t end_ns = MonotonicNanoseconds();
  const uint64_t end_tsc = TraceClock::HostNow();
  // 2^31 keeps the multiplier in 32 bits for counters from 0.5 GHz up, as the kernel does it.
  TimeConversion result{.shift = 31, .mult = 0, .zero = 0};
  const unsigned __int128 scaled = static_cast<unsigned __int128>(end_ns - begin_ns)
                                   << result.shift;
  result.mult = static_cast<uint32_t>(scaled / std::max<uint64_t>(1, end_tsc - begin_tsc));
  result.zero = end_ns - result.ToNanoseconds(end_tsc);
  return result;
}

uint64_t Frequency(const TimeConversion& conversion) {
  const unsigned __int128 scaled = static_cast<unsigned __int128>(kNanosecondsPerSecond)
                                   << conversion.shift;
  return static_cast<uint64_t>(scaled / std::max<uint32_t>(1, conversion.mult));
}

uint64_t RoundedRatio(uint64_t value, uint64_t unit) { return (value + unit / 2) / unit; }

}  // namespace

TraceClock TraceClock::ForThisMachine() {
  const auto from_perf = PerfConversion();
  return TraceClock(from_perf && from_perf->known() ? *from_perf : MeasuredConversion());
}

TraceClock TraceClock::OfInstructions(std::atomic<uint64_t>& ticks) {
  TraceClock clock(TimeConversion{.shift = 0, .mult = 1, .zero = 0}, kNanosecondsPerSecond);
  clock.ticks_ = &ticks;
  return clock;
}

TraceClock::TraceClock(TimeConversion conversion) : TraceClock(conversion, Frequency(conversion)) {}

TraceClock::TraceClock(TimeConversion conversion, uint64_t ticks_per_second)
    : conversion_(conversion),
      tsc_per_crystal_tick_(static_cast<uint32_t>(
          std::clamp<uint64_t>(RoundedRatio(ticks_per_second, kCrystalHz), 1, kMaxFastCounter))),
      nominal_ratio_(static_cast<uint8_t>(
          std::clamp<uint64_t>(RoundedRatio(ticks_per_second, kBusHz), 1, UINT8_MAX))) {}

}  // namespace flowback::record
