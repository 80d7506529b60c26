// SPDX-License-Identifier: MIT
// What events shall not record: RecordEvents::filters, given to the events they are of.
#pragma once

#include <vector>

#include "capture/kernel/wanted_event.h"
#include "flowback/capture/record.h"

namespace flowback::record {

// Sets WantedEvent::filter. Errors: kUsage, kNoHardware (no address filters, or too few of them).
Status ApplyFilters(const RecordOptions& options, const kernel::SystemKernel& kernel,
                    std::vector<kernel::WantedEvent>& wanted);

// `error` is what the kernel said to the event's filter.
Error CannotFilter(const kernel::WantedEvent& event, kernel::Errno error);

}  // namespace flowback::record
