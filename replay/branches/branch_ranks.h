// SPDX-License-Identifier: MIT
// Which branches come first in a table of branches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "replay/branches/branch_sums.h"

namespace flowback {

enum class BranchRank : uint8_t {
  kHottest,       // executed most often
  kMispredicted,  // predicted wrongly most often
  kSlowest,       // most cycles passed on the way to them
};

// Returns the first `most` branches by rank. Leaves out branches whose value is 0.
std::vector<const BranchSum*> Ranked(const BranchReport& report, BranchRank rank, size_t most);
// Returns the place that the branch led to most often. REQUIRES: the branch was taken.
const CodePlace& MainTarget(const BranchSum& sum);

}  // namespace flowback
