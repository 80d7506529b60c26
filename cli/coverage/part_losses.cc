// SPDX-License-Identifier: MIT
#include "cli/coverage/part_losses.h"

#include <fmt/format.h>

#include "cli/reading/losses.h"
#include "cli/text/status.h"
#include "flowback/replay/loss_tally.h"
#include "replay/writers/text/counted.h"

namespace flowback::cli {

int WarnOfPart(const KeptLosses& losses, const std::string& name, bool strict) {
  LossTally tally;
  tally.Add(losses);
  WarnOfLosses(tally, name);
  if (losses.damage != 0)
    Warn(fmt::format("{}: {} of damage to the recordings that were counted", name,
                     Counted(losses.damage, "warning")),
         {"`flowback info RECORDING` shows where a recording is damaged"});
  return StatusOf(tally, strict);
}

}  // namespace flowback::cli
