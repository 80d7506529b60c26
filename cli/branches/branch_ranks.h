// SPDX-License-Identifier: MIT
// Which branches come first, by what is asked of them.
#pragma once

#include <vector>

#include "replay/branches/branch_sums.h"

namespace flowback::cli {

enum class BranchRank : uint8_t {
  kHottest,       // executed most often
  kMispredicted,  // predicted wrongly most often
  kSlowest,       // most cycles passed on the way to them
};

// The first `most` of them, without those of which there is nothing to tell.
std::vector<const BranchSum*> Ranked(const BranchReport& report, BranchRank rank, size_t most);
// Where it led most often. REQUIRES: it was taken.
const CodePlace& MainTarget(const BranchSum& sum);

}  // namespace flowback::cli
