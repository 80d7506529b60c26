// SPDX-License-Identifier: MIT
// A generated recording, and what makes timelines of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "flowback/replay/timeline.h"
#include "replay/flow/space_names.h"
#include "tests/golden/perf_recordings.h"

namespace flowback::golden {

struct OpenedTimeline {
  // The running test fails, and `sources` stay empty, where the recording can't be opened.
  explicit OpenedTimeline(const PerfRecording& which, const Change& change = {});
  OpenedTimeline(const OpenedTimeline&) = delete;
  OpenedTimeline& operator=(const OpenedTimeline&) = delete;

  // Makes the timeline of all threads. The running test fails if there is none.
  Timeline Make(const TimelineOptions& options = {}) const { return Make(options, played); }
  Timeline Make(const TimelineOptions& options, const std::vector<const ThreadFlow*>& of) const;
  std::vector<uint8_t> BytesOf(const Timeline& timeline) const;

  OpenedPerf perf;
  std::vector<ThreadFlow> flows;
  std::vector<const ThreadFlow*> played;  // all of `flows`
  SpaceNames spaces;
  std::unique_ptr<Symbolizer> symbolizer;
  std::unique_ptr<SymbolFunctions> functions;
  std::optional<TimelineSources> sources;
};

}  // namespace flowback::golden
