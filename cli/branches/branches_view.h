// SPDX-License-Identifier: MIT
// What `branches` prints, and the names in it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/name_pattern.h"
#include "cli/reading/opened_recording.h"
#include "cli/text/output.h"
#include "flowback/replay/source_lines.h"
#include "flowback/replay/symbolizer.h"
#include "replay/branches/branch_sums.h"

namespace flowback::cli {

struct BranchesView {
  const BranchReport& report;
  const OpenedRecording& opened;
  CodeSymbols& names;
  size_t top = 20;

  // An emulator's cycles are its clock's, not a processor's.
  bool emulated() const { return opened.recording().machine.emulated; }
  bool samples() const { return opened.source().samples(); }
  // The path that the recording has for an object.
  std::string_view ObjectOf(const CodePlace& place) const {
    if (place.object == CodePlace::kNoObject) return {};
    return opened.RecordedPath(report.objects[place.object]);
  }
};

// null, or an object of the cycles' numbers.
std::string CyclesJson(const CycleSums& cycles);
// The same, but null where they are not a processor's.
std::string CyclesJson(const BranchesView& view, const CycleSums& cycles);
// The functions that fit, block by block; the first `top` of them as text. Errors: kUsage when none
// fits.
Status PrintAnnotated(const BranchesView& view, const NamePattern& pattern, bool json,
                      Output& output);
void PrintBranchesText(const BranchesView& view, Output& output);
void PrintBranchesJson(const BranchesView& view, Output& output);

}  // namespace flowback::cli
