// SPDX-License-Identifier: MIT
#include "tests/support/places.h"

#include <cstdlib>

#include "base/sanitized.h"

namespace flowback {
namespace {

constexpr const char* kOtherProgram = "FLOWBACK_TEST_PROGRAM";

}  // namespace

std::string SourceFolder() { return FLOWBACK_SOURCE_DIR; }
std::string BuildFolder() { return FLOWBACK_BINARY_DIR; }

std::string ProgramFile() {
  const char* other = std::getenv(kOtherProgram);
  return other != nullptr ? other : BuildFolder() + "/bin/flowback";
}

bool ProgramIsSanitized() {
  return FLOWBACK_SANITIZED != 0 || std::getenv(kOtherProgram) != nullptr;
}

std::string RecordedProgramsFolder() { return BuildFolder() + "/tests/record/programs"; }
std::string SamplesFolder() { return BuildFolder() + "/samples"; }

std::string EmulatorPlugin() {
#ifdef FLOWBACK_TCG_PLUGIN
  return FLOWBACK_TCG_PLUGIN;
#else
  return {};
#endif
}

}  // namespace flowback
