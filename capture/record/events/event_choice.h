// SPDX-License-Identifier: MIT
// Which events are recorded, and how they are sampled, by the options and what the machine has.
#pragma once

#include <string>
#include <vector>

#include "capture/kernel/event_plan.h"
#include "capture/record/events/event_target.h"
#include "flowback/capture/record.h"

namespace flowback::record {

// The words for events that an engine's name stands for, on this machine. Errors: kNoHardware.
Result<std::vector<std::string>> EventsOfEngine(const std::string& engine,
                                                const std::vector<kernel::Pmu>& pmus);

// Returns the events that the options name, or the engine's. Errors: see ParseEvents.
Result<std::vector<kernel::WantedEvent>> WantedEvents(const RecordOptions& options,
                                                      const std::vector<kernel::Pmu>& pmus,
                                                      const kernel::SystemKernel& kernel);

// Errors: kUsage, kUnsupported (more samples a second than the kernel allows).
Result<kernel::SamplingChoice> ChooseSampling(const RecordOptions& options,
                                              const std::vector<kernel::WantedEvent>& wanted,
                                              const std::vector<kernel::Pmu>& pmus,
                                              const EventTarget& target,
                                              const kernel::SystemKernel& kernel,
                                              std::vector<std::string>& notes);

}  // namespace flowback::record
