// SPDX-License-Identifier: MIT
#include "tests/record/emulated.h"

namespace flowback::record_test {
namespace {

#ifdef FLOWBACK_TCG_PLUGIN
constexpr const char* kPlugin = FLOWBACK_TCG_PLUGIN;
#else
constexpr const char* kPlugin = "";
#endif

}  // namespace

void Emulate(RecordOptions& options) {
  options.engine = "emulate";
  options.emulate.plugin = kPlugin;
}

std::string WhyNotEmulated() {
  if (*kPlugin == '\0') return "this build has no plugin for the emulator";
  RecordOptions options;
  Emulate(options);
  const Status found = CheckEmulator(options);
  return found ? "" : found.error().message() + ": " + found.error().remedy();
}

}  // namespace flowback::record_test
