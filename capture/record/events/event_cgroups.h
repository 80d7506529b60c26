// SPDX-License-Identifier: MIT
// Control groups whose tasks are recorded: RecordEvents::cgroups.
#pragma once

#include <vector>

#include "capture/kernel/wanted_event.h"
#include "flowback/capture/record.h"

namespace flowback::record {

// Sets WantedEvent::cgroup, the folder by which the kernel knows the group: below where the
// hierarchy with perf events is mounted (version 1), or the only one there is (version 2). Errors:
// kUsage, kUnsupported (no hierarchy is mounted).
Status ApplyCgroups(const RecordOptions& options, const kernel::SystemKernel& kernel,
                    std::vector<kernel::WantedEvent>& wanted);

}  // namespace flowback::record
