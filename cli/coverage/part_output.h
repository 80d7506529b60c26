// SPDX-License-Identifier: MIT
// Writes part files of coverage.
#pragma once

#include <string>

#include "flowback/base/error.h"
#include "flowback/replay/coverage_counts.h"

namespace flowback::cli {

// Replaces an older part or an empty file only when the new part is complete. Errors: kUsage if the
// file holds something else; kSystem, after which the file is as it was.
Status WritePart(const CoverageCounts& counts, const std::string& path);

}  // namespace flowback::cli
