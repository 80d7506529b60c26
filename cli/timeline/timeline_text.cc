// SPDX-License-Identifier: MIT
#include "cli/timeline/timeline_view.h"

namespace flowback::cli {

void PrintTimelineText(const TimelineView& view, Output& output) {
  for (const auto append :
       {AppendSentences, AppendStrips, AppendFunctionProfile, AppendPathProfile}) {
    append(view, output.buffer());
    output.Commit();
  }
}

}  // namespace flowback::cli
