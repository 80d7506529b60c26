// SPDX-License-Identifier: MIT
// What `branches --mem` prints, and the names in it.
#pragma once

#include <string>
#include <string_view>

#include "cli/reading/opened_recording.h"
#include "cli/text/output.h"
#include "replay/samples/access_sums.h"

namespace flowback::cli {

struct MemoryView {
  const AccessReport& report;
  const OpenedRecording& opened;
  CodeSymbols& names;
  size_t top = 20;

  // The path that the recording has for an object.
  std::string_view ObjectOf(const CodePlace& place) const {
    if (place.object == CodePlace::kNoObject) return {};
    return opened.RecordedPath(report.objects[place.object]);
  }
};

void PrintMemoryText(const MemoryView& view, Output& output);
void PrintMemoryJson(const MemoryView& view, Output& output);

}  // namespace flowback::cli
