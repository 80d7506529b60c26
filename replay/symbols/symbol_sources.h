// SPDX-License-Identifier: MIT
// Which files names came from, noted beside what was made with the names.
#pragma once

#include "base/number_bytes.h"
#include "flowback/replay/symbolizer.h"

namespace flowback {

// All that it has asked so far.
void NoteSources(NumberWriter& out, const Symbolizer& symbolizer);
// Reads such notes; whether each file still is as it was then.
bool HaveStayed(NumberReader& in, const Symbolizer& symbolizer);

}  // namespace flowback
