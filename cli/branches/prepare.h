// SPDX-License-Identifier: MIT
// The steps of opening a recording that branches and accesses to memory require.
#pragma once

#include "cli/reading/opened_recording.h"
#include "flowback/base/error.h"

namespace flowback::cli {

// Errors: as those of the steps.
Status PrepareBranches(OpenedRecording& opened);

// The recording may hold samples and no trace. Errors: as those of the steps; NoAccesses.
Status PrepareAccesses(OpenedRecording& opened);

}  // namespace flowback::cli
