// SPDX-License-Identifier: MIT
#include "replay/writers/timeline/timeline_view.h"
#include "replay/writers/timeline/timeline_waits.h"
#include "replay/writers/writers.h"

namespace flowback {

void WriteTimelineText(const TimelineView& view, TextSink& sink) {
  for (const auto append : {AppendSentences, AppendStrips, AppendWaits, AppendFunctionProfile,
                            AppendSystemCallProfile, AppendPathProfile}) {
    append(view, sink.buffer());
    sink.Commit();
  }
}

}  // namespace flowback
