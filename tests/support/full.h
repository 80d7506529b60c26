// SPDX-License-Identifier: MIT
// Whether tests run over every seed and recording, or over as many as show each thing once.
#pragma once

#include <cstdlib>
#include <string_view>

namespace flowback::testing {

// FLOWBACK_FULL=1 in the environment, which `.ci/run --full` sets.
inline bool IsFullRun() {
  const char* asked = std::getenv("FLOWBACK_FULL");
  return asked != nullptr && std::string_view(asked) == "1";
}

}  // namespace flowback::testing
