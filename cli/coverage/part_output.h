// SPDX-License-Identifier: MIT
// Part files of coverage, as commands write them and tell them from recordings.
#pragma once

#include <string>

#include "flowback/base/error.h"
#include "flowback/replay/coverage_counts.h"

namespace flowback::cli {

// Takes the place of a part once it is whole, and of nothing else that holds anything. Errors:
// kUsage for such a file; kSystem, and what was there is there still.
Status WritePart(const CoverageCounts& counts, const std::string& path);
// Whether the file begins as a part does. False where it can't be read.
bool LooksLikePart(const std::string& path);

}  // namespace flowback::cli
