// SPDX-License-Identifier: MIT
// For tests that record in the emulator.
#pragma once

#include <string>

#include "flowback/capture/record.h"

namespace flowback::record_test {

// Sets engine and plugin.
void Emulate(RecordOptions& options);

// Empty when this build and this machine can.
std::string WhyNotEmulated();
#define FLOWBACK_NEEDS_EMULATOR()                                                    \
  if (const std::string why = flowback::record_test::WhyNotEmulated(); !why.empty()) \
  GTEST_SKIP() << why

}  // namespace flowback::record_test
