// SPDX-License-Identifier: MIT
// The counts and times of steps, several at a time in the lanes of one register, as the processor
// has it. Every choice gives the same numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "flowback/model/block_batch.h"

namespace flowback {

struct StepLanes {
  static constexpr size_t kTogether = 128;         // steps
  static constexpr uint32_t kNever = 0x7fff'ffff;  // more than kTogether steps have instructions

  const char* name;
  // sums[i]: instructions of the first i + 1 of `size` steps. Up to 16 more may be written.
  void (*add_counts)(const StepCount* counts, size_t size, uint32_t* sums);
  // How many of kTogether sums are less than `limit`. Looking at all of them is faster than a
  // search, because the processor mispredicts every second step of a search. REQUIRES: it and the
  // sums are no more than kNever.
  size_t (*count_below)(const uint32_t* sums, uint64_t limit);
  // times[i] = line.At(before + sums[i]), for `size` of them. Up to 8 more may be read and written.
  void (*add_times)(const TimeLine& line, uint64_t before, const uint32_t* sums, size_t size,
                    uint64_t* times);

  // The fastest one here.
  static const StepLanes& Best();
  // All that work here, the plain one first.
  static std::span<const StepLanes> All();
};

}  // namespace flowback
