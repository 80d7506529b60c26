// SPDX-License-Identifier: MIT
// Samples over time: where each thread stood whenever one was taken, and what the samples' records
// prove.
//
//   sample 1          sample 2      sample 3
//   |records|         |records|     |records|      time ->
//           ^ main            ^ f           ^ f
//
// Between two samples nothing is known. So there are no calls here, no durations, and no time that
// went anywhere: all shares are of samples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/replay/timeline.h"

namespace flowback {

struct ThreadSample {
  uint64_t time = 0;  // in the RecordingClock's unit; 0: unknown
  uint64_t ip = 0;    // StreamSample::ip
  uint64_t to = 0;    // StreamSample::to
  uint32_t function = CallPath::kNoFunction;

  // Where the thread stood: the recorder's word, or where the newest record led.
  uint64_t stood() const { return ip != 0 ? ip : to; }
};

struct SampleTimeline {
  // It counts samples instead of times: a strip's column counts its samples, and
  // by_function[].count those in the function. `self_instructions` counts the function's
  // instructions that the records prove. Begin and end are the first sample's time and the last
  // one's.
  Timeline timeline;
  std::vector<std::vector<ThreadSample>> threads;  // as Timeline::threads, each by time
  uint64_t samples = 0;
  uint64_t without_ip = 0;  // of them, for which the newest record alone shows where a thread stood
  uint64_t nowhere = 0;     // of them, without a known place
  uint64_t records = 0;     // of all of them
  uint64_t contradicted = 0;  // of the records, by the code
  uint64_t unread = 0;        // of the records, lost for another reason: see Timeline::losses
  uint64_t instructions = 0;  // that the records prove
  std::string unjudged;       // why the records were not held against the code; empty: they were
};

// The numbers of the threads with most samples, the most first.
std::vector<size_t> ThreadsBySamples(const SampleTimeline& timeline, size_t most);

// Threads without a sample in the span are left out. Options used: threads, in_flight, span,
// columns, most_strips. REQUIRES: the sources' trace is samples. Errors: as Player::Play's.
Result<SampleTimeline> MakeSampleTimeline(const TimelineSources& sources,
                                          const std::vector<const ThreadFlow*>& flows,
                                          const TimelineOptions& options);

}  // namespace flowback
