// SPDX-License-Identifier: MIT
// Samples with memory accesses (perf record -d, perf mem, IBS) as event samples.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/recorded/event_sample.h"
#include "capture/formats/perf_records/perf_record_reader.h"
#include "capture/formats/perf_records/perf_sample_id.h"
#include "capture/formats/samples/amd_ibs.h"
#include "flowback/model/recording.h"

namespace flowback::perf {

// How Recording::record_counts names samples with memory accesses.
inline constexpr std::string_view kAccessSamples = "SAMPLE with memory access";

class EventSampleReader {
 public:
  // `attrs` and `recording` must outlive it.
  EventSampleReader(const std::vector<EventAttr>& attrs, const Recording& recording);

  // Whether any event's samples may contain memory accesses.
  bool any() const { return any_; }
  // Empty for samples of events that do not. `whole` becomes false where it has registers of IBS
  // that are cut, or that hold no sample: its other facts are used all the same. REQUIRES:
  // `sample.attr` is one of the events.
  std::optional<EventSample> Read(const Sample& sample, const Record& record, bool& whole) const;

 private:
  const std::vector<EventAttr>& attrs_;
  const Recording& recording_;
  bool any_ = false;
  std::vector<IbsUnit> units_;  // by event
};

}  // namespace flowback::perf
