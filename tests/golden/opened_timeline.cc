// SPDX-License-Identifier: MIT
#include "tests/golden/opened_timeline.h"

#include <gtest/gtest.h>

#include <utility>

#include "replay/timeline/timeline_bytes.h"
#include "tests/golden/engines.h"

namespace flowback::golden {

OpenedTimeline::OpenedTimeline(const PerfRecording& which, const Change& change) {
  OpenPerf(which, change, perf);
  if (!perf.inputs) return;
  perf.inputs->set_times(true);
  flows = ThreadFlows(perf.recording, *perf.inputs);
  for (const ThreadFlow& flow : flows) played.push_back(&flow);
  spaces = SpacesOf(perf.recording, *perf.inputs);
  symbolizer = std::make_unique<Symbolizer>(ImageSearch(), &perf.recording);
  functions = std::make_unique<SymbolFunctions>(*symbolizer);
  sources.emplace(TimelineSources{
      .recording = perf.recording,
      .flow = {.inputs = *perf.inputs,
               .make_decoder = [] { return Result<std::unique_ptr<Decoder>>(Engine("native")); }},
      .symbolizer = *symbolizer,
      .functions = *functions});
}

Timeline OpenedTimeline::Make(const TimelineOptions& options,
                              const std::vector<const ThreadFlow*>& of) const {
  Result<Timeline> timeline = MakeTimeline(*sources, of, options);
  EXPECT_TRUE(timeline) << timeline.error().message();
  return timeline ? *std::move(timeline) : Timeline();
}

std::vector<uint8_t> OpenedTimeline::BytesOf(const Timeline& timeline) const {
  return TimelineToBytes(timeline, spaces);
}

}  // namespace flowback::golden
