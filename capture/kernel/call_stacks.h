// SPDX-License-Identifier: MIT
// How the stacks of samples are recorded, in perf's words.
#pragma once

#include <string_view>

#include "capture/kernel/wanted_event.h"
#include "flowback/base/error.h"

namespace flowback::kernel {

// "fp", "dwarf", "dwarf,BYTES", "lbr" or "no". Errors: kUsage.
Result<CallStacks> ParseCallStacks(std::string_view words);
// Reads how many bytes of the stack each sample gets: a multiple of 8, below 64 KiB. Errors:
// kUsage.
Result<uint32_t> ParseStackBytes(std::string_view text);

// Has the event's samples record them. `tracks`: it records mappings.
void RecordStacks(const CallStacks& stacks, bool tracks, perf_event_attr& attr);

}  // namespace flowback::kernel
