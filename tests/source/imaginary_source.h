// SPDX-License-Identifier: MIT
// Trace as no hardware writes it: records of 16 bytes, each a time and the address of the one
// instruction that executed then. Address 0: tracing stopped.
#pragma once

#include <cstdint>
#include <vector>

namespace flowback::testing {

struct ImaginaryRecord {
  uint64_t time = 0;
  uint64_t address = 0;
};

std::vector<uint8_t> ImaginaryTrace(const std::vector<ImaginaryRecord>& records);

}  // namespace flowback::testing
