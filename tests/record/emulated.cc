// SPDX-License-Identifier: MIT
#include "tests/record/emulated.h"

#include "capture/record/emulate/emulator_file.h"
#include "tests/support/places.h"

namespace flowback::record_test {

void Emulate(RecordOptions& options) {
  options.engine = "emulate";
  options.emulate.plugin = EmulatorPlugin();
}

std::string WhyNotEmulated() {
  if (EmulatorPlugin().empty()) return "this build has no plugin for the emulator";
  RecordOptions options;
  Emulate(options);
  const Status found = CheckEmulator(options);
  return found ? "" : found.error().message() + ": " + found.error().remedy();
}

}  // namespace flowback::record_test
