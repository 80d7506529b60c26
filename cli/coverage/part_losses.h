// SPDX-License-Identifier: MIT
// Says what was lost of the recordings that a part file was counted from.
#pragma once

#include <string>

#include "flowback/replay/loss_tally.h"

namespace flowback::cli {

// Warns of the losses as a command that reads the recordings does. `name` stands before them.
// Returns the exit status, as StatusOf.
int WarnOfPart(const KeptLosses& losses, const std::string& name, bool strict);

}  // namespace flowback::cli
