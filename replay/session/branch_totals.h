// SPDX-License-Identifier: MIT
// The sums of a session's branches.
#pragma once

#include "flowback/base/error.h"
#include "flowback/session.h"
#include "replay/branches/branch_sums.h"
#include "replay/profile/flow_cut.h"

namespace flowback {

// Plays all selected threads, or a part of one, and sums up their branches. The report points into
// the session. Errors: as Session::PlayAccounted's.
Result<BranchReport> SumBranches(Session& session, const ThreadPart& part = {});

}  // namespace flowback
