// SPDX-License-Identifier: MIT
// The settings of an Intel PT recording in words.
#pragma once

#include <cstdint>
#include <vector>

#include "base/recorded/pt_config.h"
#include "flowback/decode/trace_source.h"

namespace flowback::pt {

// As TraceSource has them.
std::vector<TraceSetting> SettingsOf(const PtConfig& config);
std::vector<uint64_t> SettingNumbers(const PtConfig& config);

}  // namespace flowback::pt
