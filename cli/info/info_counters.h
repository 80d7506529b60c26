// SPDX-License-Identifier: MIT
// What stands beside the trace: counters of events, names that the program gave its regions.
#pragma once

#include <string>

#include "flowback/model/counters.h"
#include "flowback/model/recording.h"
#include "flowback/replay/threads.h"

namespace flowback::cli {

// Tables of all together and of each thread; nothing where nothing was counted.
void AppendCounters(const CountedEvents& counters, const Threads& threads, std::string& out);
// A line for each name of the recording's, those that took longest first; nothing without any.
void AppendRegions(const Recording& recording, std::string& out);

}  // namespace flowback::cli
