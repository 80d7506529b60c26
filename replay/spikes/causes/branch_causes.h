// SPDX-License-Identifier: MIT
// Which branch of a function is the reason that its own code cost more.
#pragma once

#include <cstdint>

#include "replay/spikes/causes/causes.h"

namespace flowback {

// A path, or a way of a branch, is rare if at most this share of the normal instances take it.
inline constexpr double kRareShare = 0.25;

// Which of the slow and of the normal instances: as WaySums::which.
struct InstanceSet {
  uint64_t slow = 0;
  uint64_t normal = 0;
  bool operator==(const InstanceSet&) const = default;
};
InstanceSet SetOfWay(const CauseInput& input, uint32_t edge);

// Returns the branch's way in the path's function that just these instances went, while most normal
// ones went the other way; kNoEdge: no branch has such a way.
uint32_t WayOfSet(const CauseInput& input, uint32_t node, const InstanceSet& set);

// Makes the cause one of a branch that went that way.
void TakeWay(const CauseInput& input, uint32_t edge, Cause& cause);

// Finds out why the own code of cause.node cost more, and fills in kind, edge, loop, counts and
// chance.
void ExplainOwn(const CauseInput& input, Cause& cause);

// Returns the edge of a loop in the path's function that made more trips in slow instances;
// kNoEdge: no loop did.
uint32_t LoopOf(const CauseInput& input, uint32_t node);

}  // namespace flowback
