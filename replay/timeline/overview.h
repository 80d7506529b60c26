// SPDX-License-Identifier: MIT
// What ran when, from a flow index and what it kept of times: nothing is decoded for it.
//
// Exact in it are the threads' lives, their times by class and their instructions (of a span of
// time these are about). The hottest blocks in the index show which functions executed,
// approximately: of the whole recording, or stretch by stretch. It has no calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "flowback/replay/flow_index.h"
#include "flowback/replay/timeline.h"
#include "replay/timeline/kept_times.h"

namespace flowback {

struct Overview {
  // Without calls: the only call path, the root, has all. Functions have their own instructions and
  // time executing, approximately; in strips the function that had most of a stretch.
  Timeline timeline;
  uint64_t instructions = 0;  // of all threads
  uint64_t told = 0;          // those of them in functions, about
  size_t stretches = 0;       // of the whole recording
  bool is_cut = false;        // it is of a span of time only
  unsigned sample = 1;        // FlowIndex::Options has it
};

// REQUIRES: `index` is of the sources, and so are `times`; the flows are of GroupByThread. Options
// used: span, columns, most_strips.
Overview MakeOverview(const TimelineSources& sources, const FlowIndex& index,
                      const FlowTimes& times, const std::vector<const ThreadFlow*>& flows,
                      const TimelineOptions& options);

}  // namespace flowback
