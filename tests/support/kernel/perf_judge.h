// SPDX-License-Identifier: MIT
// What perf opens for an event, on a machine of ours: the judge of how its words are understood.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/support/kernel/attr_text.h"

namespace flowback::test {

// Attributes of the events that `perf record WORDS -- true` opens, in order, those with
// equal ones once;
// `sysfs` takes the place of /sys. Empty: perf refused the words.
std::optional<std::vector<AttrFields>> PerfOpens(const std::vector<std::string>& words,
                                                 const std::string& sysfs);

// Works as above for any program that opens events for a command of its own, with this machine's
// /sys: {"perf", "record", ...}. Empty: it failed.
std::optional<std::vector<AttrFields>> ProgramOpens(const std::vector<std::string>& words);

}  // namespace flowback::test
