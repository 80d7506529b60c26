// SPDX-License-Identifier: MIT
// How often lines of source were executed, from how often their instructions were.
//
//   12  for (i = 0; i < n; i++)     control came from line 11 once, from line 13 n times: n + 1
//   13    sum += a[i];              from line 12 n times
//   14  while (*s) s++;             once from before, and n times by its own jump back: n + 1
//
// An instruction that the one before it in its line leads to adds nothing, nor does a jump in its
// line that closes no loop there: control is in the line already. This is what gcov counts in code
// that was not optimised. In code that was, lines go to and fro; there the line table marks where a
// line begins (is_stmt), and code moved away from that adds nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "flowback/replay/coverage_report.h"

namespace flowback {

// By number of static instruction: how often control came to its line there. REQUIRES: the object
// has all that is by instruction, and all branches of its code.
std::vector<uint64_t> ArrivalsInLines(const ObjectCoverage& object);

}  // namespace flowback
