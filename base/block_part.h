// SPDX-License-Identifier: MIT
// A part of a block run, as a block run of its own.
#pragma once

#include <cstddef>

#include "flowback/model/execution.h"

namespace flowback {

// The instructions from `begin` up to but not including `end`.
inline BlockRun PartOf(const BlockRun& run, size_t begin, size_t end) {
  BlockRun part = run;
  part.lengths = run.lengths.subspan(begin, end - begin);
  for (size_t i = 0; i < begin; ++i) part.address += run.lengths[i];
  if (begin != 0) part.first_tsc = run.TscOf(begin);
  if (end == run.lengths.size()) return part;
  part.tsc = run.TscOf(end - 1);
  part.last_lo = 0;
  part.exit = BlockExit::kFallThrough;
  part.last = InstructionClass::kOther;
  part.branch = {};
  part.cycles = {};
  part.next = part.address;
  for (const uint8_t length : part.lengths) part.next += length;
  return part;
}

}  // namespace flowback
