// SPDX-License-Identifier: MIT
// Counters of events that stand beside the trace.
#pragma once

#include <string>

#include "flowback/model/counters.h"
#include "flowback/replay/threads.h"

namespace flowback::cli {

// Tables of all together and of each thread; nothing where nothing was counted.
void AppendCounters(const CountedEvents& counters, const Threads& threads, std::string& out);

}  // namespace flowback::cli
