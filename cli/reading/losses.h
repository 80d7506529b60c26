// SPDX-License-Identifier: MIT
// Says what was lost, and what exit status that means.
#pragma once

#include <string>
#include <string_view>

#include "flowback/model/execution.h"
#include "flowback/replay/loss_tally.h"

namespace flowback::cli {

// Returns "loss: no code image, 12 bytes at offset 0x345: DETAIL", printable.
std::string LossText(const DataLoss& loss);

// Warns of the losses, by cause, with a remedy for each. Does nothing if nothing was lost.
void WarnOfLosses(const LossTally& losses, const std::string& file);

// Returns kDone, or under --strict kImageIsMissing or kFinishedWithLosses. Lost records, bytes and
// threads count, which every command knows; lost time does not.
int StatusOf(const LossTally& losses, bool strict);

// Returns " in the files that were found" if code ran whose file is missing: functions in that file
// have no names. Else nothing.
std::string_view InFoundFiles(const LossTally& losses);

}  // namespace flowback::cli
