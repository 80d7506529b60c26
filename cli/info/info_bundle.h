// SPDX-License-Identifier: MIT
// The report of `info` on the bundle that a recording is in.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/info/info_report.h"

namespace flowback::cli {

// Its size, its files, and whether it has a core dump; nothing of a recording that is in none.
void AppendBundle(const InfoReport& report, std::string& out);
// Null for a recording that is in none.
nlohmann::ordered_json BundleJson(const InfoReport& report);

}  // namespace flowback::cli
