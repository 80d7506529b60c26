// SPDX-License-Identifier: MIT
// Values of JSON that commands build in memory.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace flowback::cli {

// Returns the text, or null if it is empty: a field without a value is null.
inline nlohmann::ordered_json TextOrNull(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
}

}  // namespace flowback::cli
