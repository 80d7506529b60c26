// SPDX-License-Identifier: MIT
// What `spikes` finds out, as bytes and back, in the two parts that take a pass each: the list of
// instances, and what the slow ones and the normal ones did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/model/recording.h"
#include "flowback/replay/threads.h"
#include "replay/flow/space_names.h"
#include "replay/spikes/request_loops.h"
#include "replay/spikes/spikes.h"

namespace flowback {

// What the bytes refer to by number. All of it must outlive the calls.
struct SpikeContext {
  const Recording& recording;
  const SpaceNames& spaces;
  const std::vector<const ThreadFlow*>& flows;
};

// The result is empty if the report names code that is in none of the spaces.
std::vector<uint8_t> InstancesToBytes(const MeasuredInstances& measured, const SpaceNames& spaces);
std::vector<uint8_t> ComparisonToBytes(const SpikeReport& report, const SpaceNames& spaces);
std::vector<uint8_t> LoopsToBytes(const std::vector<RequestLoop>& loops, const SpaceNames& spaces);

// The readers accept no bytes that the other functions cannot have written: every number refers to
// something that exists, and the classes of time add up. They return whether they filled in their
// part of the report; otherwise it is as it was.
bool InstancesFromBytes(Bytes bytes, const SpikeContext& context, MeasuredInstances& measured);
// Fills in `causes`, `outliers`, `median_costs`, `functions`, `paths`, `branches` and the sums of
// the groups.
// REQUIRES: the report has its instances, and their groups are known.
bool ComparisonFromBytes(Bytes bytes, const SpikeContext& context, SpikeReport& report);
bool LoopsFromBytes(Bytes bytes, const SpikeContext& context, std::vector<RequestLoop>& loops);

}  // namespace flowback
