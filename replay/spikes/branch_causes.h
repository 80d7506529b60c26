// SPDX-License-Identifier: MIT
// Which branch of a function is the reason that its own code cost more.
#pragma once

#include <cstdint>

#include "replay/spikes/causes.h"

namespace flowback {

// Finds out why the own code of cause.node cost more, and fills in kind, edge, loop, counts and
// chance.
void ExplainOwn(const CauseInput& input, Cause& cause);

// Returns the edge of a loop in the path's function that made more trips in slow instances;
// kNoEdge: there is none.
uint32_t LoopOf(const CauseInput& input, uint32_t node);

}  // namespace flowback
