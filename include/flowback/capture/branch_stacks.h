// SPDX-License-Identifier: MIT
// Samples that hold the last branches of their moment (PERF_SAMPLE_BRANCH_STACK).
#pragma once

#include <cstdint>
#include <string_view>

#include "flowback/model/recording.h"

namespace flowback {

// How Recording::record_counts names those of its samples that have branches. They are counted, and
// not read.
inline constexpr std::string_view kBranchStackSamples = "SAMPLE with branch stack";

// How many the recording has.
inline uint64_t BranchStacksOf(const Recording& recording) {
  for (const auto& [name, count] : recording.record_counts)
    if (name == kBranchStackSamples) return count;
  return 0;
}

}  // namespace flowback
