// SPDX-License-Identifier: MIT
// `info --stats`: how the recording was decoded.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/info/info_report.h"

namespace flowback::cli {

void AppendEffort(const InfoReport& report, std::string& out);
nlohmann::ordered_json EffortJson(const InfoReport& report);

}  // namespace flowback::cli
