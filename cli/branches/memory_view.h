// SPDX-License-Identifier: MIT
// What `branches --mem` prints, and the names in it.
#pragma once

#include <string>
#include <string_view>

#include "cli/reading/opened_recording.h"
#include "cli/text/output.h"
#include "flowback/base/error.h"
#include "replay/samples/access_sums.h"

namespace flowback::cli {

struct MemoryView {
  const AccessReport& report;
  const OpenedRecording& opened;
  RecordedNames& names;
  size_t top = 20;

  // The path that the recording has for an object.
  std::string_view ObjectOf(const CodePlace& place) const {
    if (place.object == CodePlace::kNoObject) return {};
    return opened.RecordedPath(report.objects[place.object]);
  }
};

// The steps of opening that it takes: a recording may hold samples and no trace. Errors: as theirs.
Status PrepareAccesses(OpenedRecording& opened);
// All accesses that the recording's samples and its trace tell, of the chosen threads. What the
// report points to lives as long as the opened recording. Errors: kUnsupported where there is none,
// with how to record some; as Player::Play's.
Result<AccessReport> SumAccesses(OpenedRecording& opened);

void PrintMemoryText(const MemoryView& view, Output& output);
void PrintMemoryJson(const MemoryView& view, Output& output);

}  // namespace flowback::cli
