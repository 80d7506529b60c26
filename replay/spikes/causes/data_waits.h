// SPDX-License-Identifier: MIT
// An instance's waits for data, by samples of its memory accesses: they explain why the same
// instructions took longer. Samples are few, so a sum is no total.
#pragma once

#include <cstdint>

#include "flowback/decode/code_image.h"

namespace flowback {

struct DataWaits {
  uint64_t samples = 0;
  uint64_t cycles = 0;  // until the data was there, of all of them
  // The instruction whose accesses waited longest together, and for how long.
  const AddressSpace* space = nullptr;
  uint64_t ip = 0;
  uint64_t cycles_there = 0;
};

}  // namespace flowback
