// SPDX-License-Identifier: MIT
// Call paths with the number of samples in each, a line for each path, as flame graphs are made
// from.
#include "cli/export/export_formats.h"
#include "cli/samples/call_paths.h"

namespace flowback::cli {

Status WriteFolded(const ExportInput& input, Output& output) {
  OpenedRecording& opened = input.opened;
  SampledThreads threads(opened, false);
  RecordedNames recorded(opened);
  StackNames names(recorded.symbolizer, recorded.lines,
                   [&](const std::string& file) { return opened.RecordedPath(file); });
  WriteFoldedPaths(SumPaths(threads, names), output);
  return {};
}

}  // namespace flowback::cli
