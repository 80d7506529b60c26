// SPDX-License-Identifier: MIT
// The timeline as a picture, and as a page in which one can move.
#pragma once

#include "cli/text/output.h"
#include "cli/timeline/timeline_view.h"

namespace flowback::cli {

void PrintTimelineSvg(const TimelineView& view, Output& output);
void PrintTimelineHtml(const TimelineView& view, Output& output);

}  // namespace flowback::cli
