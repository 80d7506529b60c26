// SPDX-License-Identifier: MIT
// The sums of a recording's branches, as commands make them.
#pragma once

#include <memory>

#include "cli/reading/opened_recording.h"
#include "flowback/base/error.h"
#include "flowback/replay/player.h"
#include "replay/branches/branch_sums.h"

namespace flowback::cli {

// Plays all chosen threads. Errors: as Player::Play's.
Status PlayChosen(OpenedRecording& opened, const std::string& command, PlayConsumer& consumer);

// What they did. What the report points to lives as long as the opened recording.
// Errors: as Player::Play's.
Result<BranchReport> SumBranches(OpenedRecording& opened, const std::string& command);

// The steps of opening that it takes. Errors: as theirs.
Status PrepareBranches(OpenedRecording& opened);

}  // namespace flowback::cli
