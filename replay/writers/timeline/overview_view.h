// SPDX-License-Identifier: MIT
// An overview and how it is to be shown.
#pragma once

#include "replay/timeline/overview.h"
#include "replay/writers/timeline/timeline_view.h"

namespace flowback {

struct OverviewView {
  TimelineView view;  // of the overview's timeline
  const Overview& overview;
};

}  // namespace flowback
