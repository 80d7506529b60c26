// SPDX-License-Identifier: MIT
// A thread's samples in columns of one length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "replay/samples/sample_timeline.h"

namespace flowback {

// Counts the samples from `begin` to `end`, both included, in columns, with the function that most
// of each column's samples stood in. Samples without a time are left out. REQUIRES: begin < end;
// the samples are in the order of their times.
std::vector<StripColumn> SampledStrip(std::span<const ThreadSample> samples, uint64_t begin,
                                      uint64_t end, size_t columns);

}  // namespace flowback
