// SPDX-License-Identifier: MIT
// perf_event_attr as fields with names; fields that are 0 are left out.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <map>
#include <string>

namespace flowback::test {

using AttrFields = std::map<std::string, uint64_t>;

AttrFields FieldsOf(const perf_event_attr& attr);

// "config 0x1, freq 1": what differs, as one side has it and the other.
std::string Difference(const AttrFields& ours, const AttrFields& theirs);

}  // namespace flowback::test
