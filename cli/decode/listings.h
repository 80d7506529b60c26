// SPDX-License-Identifier: MIT
// The kinds of `decode` that are not listings of the flow: packets, digest, summary.
#pragma once

#include <string>
#include <vector>

#include "cli/listing/flow_printer.h"
#include "flowback/decode/decoder.h"
#include "replay/flow/stream_sums.h"

namespace flowback::cli {

struct PacketPlan {
  unsigned threads = 1;
  size_t in_flight = 0;  // batches of packets under way at most; 0: as is useful
};

// `--as packets` of one stream. Losses go to settings.losses and into the output. The text does not
// depend on the plan.
void PrintPackets(const StreamOwner& owner, const PrintSettings& settings, const PacketPlan& plan,
                  Output& output);

void PrintDigest(const StreamTotals& totals, bool json, Output& output);
// One row per stream and, for several, one for all.
void PrintSummary(const std::vector<StreamTotals>& totals, const PrintSettings& settings,
                  Output& output);

}  // namespace flowback::cli
