// SPDX-License-Identifier: MIT
#include "cli/listing/print_settings.h"

#include "cli/reading/opened_recording.h"

namespace flowback::cli {

void Connect(PrintSettings& settings, OpenedRecording& opened, CodeSymbols& names) {
  settings.trace = {.recording = &opened.recording(),
                    .source = opened.source_or_null(),
                    .threads = &opened.threads(),
                    .clock = &opened.clock()};
  settings.names = {
      .symbolizer = &names.symbolizer,
      .lines = &names.lines,
      .functions = &names.functions,
      .recorded_path = [&](const std::string& file) { return opened.RecordedPath(file); }};
  settings.losses = &opened.losses();
}

}  // namespace flowback::cli
