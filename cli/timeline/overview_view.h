// SPDX-License-Identifier: MIT
// An overview and how it is to be shown.
#pragma once

#include "cli/text/output.h"
#include "cli/timeline/timeline_view.h"
#include "replay/timeline/overview.h"

namespace flowback::cli {

struct OverviewView {
  TimelineView view;  // of the overview's timeline
  const Overview& overview;
};

void PrintOverviewText(const OverviewView& view, Output& output);
void PrintOverviewJson(const OverviewView& view, Output& output);

}  // namespace flowback::cli
