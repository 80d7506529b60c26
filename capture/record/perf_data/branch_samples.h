// SPDX-License-Identifier: MIT
// A thread's trace of branches (capture/record/generate/branch_trace.h) becomes samples, as perf
// has them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "capture/record/generate/branch_trace.h"
#include "capture/record/output/recording_sink.h"
#include "capture/record/perf_data/perf_record_buffer.h"

namespace flowback::record {

// perf_event_attr::branch_sample_type of them: any branch of user code, with its kind, its level
// and the index of the newest.
uint64_t BranchSampleType();

class BranchSamples {
 public:
  using Take = std::function<Status(RecordBuffer record, uint64_t time)>;

  // `bytes` are whole entries. Calls take(record, nanoseconds) for each stack that has ended.
  Status Add(const RecordedStream& stream, Bytes bytes, const TimeConversion& time, bool with_cpu,
             const Take& take);

 private:
  RecordBuffer Encode(const RecordedStream& stream, uint64_t ip, uint64_t time,
                      bool with_cpu) const;

  std::vector<BranchEntry> stack_;  // the oldest first
  // Index of the thread's entries in recorded order. A hole counts as one entry, so two stacks
  // around it are no neighbours.
  uint64_t index_ = 0;
};

}  // namespace flowback::record
