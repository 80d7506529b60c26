// SPDX-License-Identifier: MIT
// Trace as no hardware writes it: records of equal size, each of the one instruction that executed
// at a time. Beside the facts of Intel PT it has those of branch stacks: facts of branches, and
// places in front of which it is unknown what executed.
#pragma once

#include <cstdint>
#include <vector>

#include "flowback/model/execution.h"

namespace flowback::testing {

struct ImaginaryRecord {
  uint64_t time = 0;
  uint64_t address = 0;         // 0: recording stopped
  BranchFacts branch{};         // of the instruction, which is taken for a branch
  uint64_t unknown_before = 0;  // not 0: what executed before it was not recorded
};

// How such trace was recorded, as Recording::config has it.
struct ImaginarySettings {
  uint64_t base = 0;        // the records' addresses are counted from here
  uint64_t sync_every = 4;  // records: decoding begins at every so many-th only
};

std::vector<uint8_t> ImaginaryTrace(const std::vector<ImaginaryRecord>& records);

}  // namespace flowback::testing
