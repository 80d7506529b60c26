// SPDX-License-Identifier: MIT
// The settings of an Intel PT recording in words.
#pragma once

#include <cstdint>
#include <vector>

#include "flowback/decode/trace_source.h"
#include "flowback/model/pt_config.h"

namespace flowback::pt {

// As TraceSource has them.
std::vector<TraceSetting> SettingsOf(const PtConfig& config);
std::vector<uint64_t> SettingNumbers(const PtConfig& config);

}  // namespace flowback::pt
