// SPDX-License-Identifier: MIT
// Samples over time and how they are to be shown.
#pragma once

#include <cstdint>
#include <string>

#include "cli/text/output.h"
#include "cli/timeline/timeline_view.h"
#include "flowback/base/error.h"
#include "replay/samples/sample_timeline.h"

namespace flowback::cli {

struct SamplesView {
  TimelineView view;  // of the samples' timeline
  const SampleTimeline& told;
  uint64_t empty = 0;  // samples of the recording that hold no record
};

// `option` was given, which asks for whole flow; empty: none was. Errors: kUsage.
Status CheckOfSamples(const std::string& input, const std::string& option);
void PrintSamplesText(const SamplesView& view, Output& output);
void PrintSamplesJson(const SamplesView& view, Output& output);

}  // namespace flowback::cli
