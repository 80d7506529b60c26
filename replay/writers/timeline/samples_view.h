// SPDX-License-Identifier: MIT
// Samples over time and how they are to be shown.
#pragma once

#include <cstdint>

#include "replay/samples/sample_timeline.h"
#include "replay/writers/timeline/timeline_view.h"

namespace flowback {

struct SamplesView {
  TimelineView view;  // of the samples' timeline
  const SampleTimeline& told;
  uint64_t empty = 0;  // samples of the recording that hold no record
};

}  // namespace flowback
