// SPDX-License-Identifier: MIT
#include "tests/support/places.h"

namespace flowback {

std::string SourceFolder() { return FLOWBACK_SOURCE_DIR; }
std::string BuildFolder() { return FLOWBACK_BINARY_DIR; }
std::string ProgramFile() { return BuildFolder() + "/bin/flowback"; }
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
