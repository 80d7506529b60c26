// SPDX-License-Identifier: MIT
// Counters in words, for those who recorded them and those who read the recording.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "flowback/model/counters.h"

namespace flowback::cli {

// "  cycles:up   123456  scaled: counted 50.0 % of the time": a line for each event.
std::string CounterLines(const CountedEvents& counters);
// {"readings":1,"events":[...]}: all threads together.
nlohmann::ordered_json CountersJson(const CountedEvents& counters);
// {"pid":1,"tid":1,"event":"cycles:u",...}
nlohmann::ordered_json ThreadCountJson(const CountedEvents& counters, const ThreadCount& count);

}  // namespace flowback::cli
