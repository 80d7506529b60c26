// SPDX-License-Identifier: MIT
// The sampled accesses to memory within instances, of recordings that hold such samples beside the
// trace.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/session.h"
#include "replay/spikes/causes/data_waits.h"
#include "replay/spikes/instances/instance.h"

namespace flowback {

// Returns waits by number of the instance, for those of `numbers` with samples. Samples are known
// by their thread and time, so the instances must have times in perf's nanoseconds. Samples without
// a latency do not count. The result points into the session. Errors: as VisitSamples'.
Result<std::map<uint32_t, DataWaits>> SumDataWaits(const Session& session,
                                                   const std::vector<Instance>& instances,
                                                   const std::vector<uint32_t>& numbers);

}  // namespace flowback
