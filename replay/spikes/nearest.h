// SPDX-License-Identifier: MIT
// The normal instance that a slow one is compared with, and where the two part.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/spikes/instances/instance_groups.h"
#include "replay/spikes/spikes.h"

namespace flowback {

// Returns some of the normal instances, which are sorted: few enough to be kept whole.
std::vector<uint32_t> CandidatesOf(const std::vector<uint32_t>& normal);

// Returns the number of the candidate whose branches are most like the instance's. REQUIRES: there
// is one.
uint32_t NearestOf(const KeptInstance& instance, const std::vector<uint32_t>& candidates,
                   const InstanceGroups& groups);

Parting PartingOf(const KeptInstance& instance, const KeptInstance& other);

}  // namespace flowback
