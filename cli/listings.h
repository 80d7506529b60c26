// SPDX-License-Identifier: MIT
// The kinds of `decode` that are not listings of the flow: packets, digest, summary.
#pragma once

#include <string>
#include <vector>

#include "cli/flow_printer.h"
#include "flowback/decode/decoder.h"

namespace flowback::cli {

// `--as packets` of one stream. Losses go to settings.losses and into the output.
void PrintPackets(const StreamOwner& owner, const PrintSettings& settings, Output& output);

// A stream's totals.
struct StreamTotals {
  const StreamOwner* owner = nullptr;
  FlowSummary summary;
};

void PrintDigest(const StreamTotals& totals, bool json, Output& output);
// One row per stream and, for several, one for all.
void PrintSummary(const std::vector<StreamTotals>& totals, const PrintSettings& settings,
                  Output& output);

}  // namespace flowback::cli
