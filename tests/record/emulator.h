// SPDX-License-Identifier: MIT
// The emulating engine of this build, for tests.
#pragma once

#include <string>

#include "flowback/capture/record.h"

namespace flowback::record_test {

#ifdef FLOWBACK_TCG_PLUGIN
inline constexpr const char* kPlugin = FLOWBACK_TCG_PLUGIN;
#else
inline constexpr const char* kPlugin = "";
#endif

inline void Emulate(RecordOptions& options) {
  options.engine = "emulate";
  options.emulator_plugin = kPlugin;
}

inline std::string WhyNotEmulated() {
  if (*kPlugin == '\0') return "this build has no plugin for the emulator";
  RecordOptions options;
  Emulate(options);
  const Status found = CheckEmulator(options);
  return found ? "" : found.error().message() + ": " + found.error().remedy();
}
#define FLOWBACK_NEEDS_EMULATOR()                                                    \
  if (const std::string why = flowback::record_test::WhyNotEmulated(); !why.empty()) \
  GTEST_SKIP() << why

}  // namespace flowback::record_test
