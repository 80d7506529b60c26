// SPDX-License-Identifier: MIT
// Samples with callchains (perf record -g) or with the hardware's stack of calls
// (perf record --call-graph lbr).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/recorded/call_samples.h"
#include "capture/formats/input/field_reader.h"
#include "capture/formats/perf_records/perf_sample_id.h"
#include "flowback/model/recording.h"

namespace flowback::perf {

// Returns whether samples of that event contain calls.
bool TellsOfCalls(const EventAttr& attr);

class CallSampleCollector {
 public:
  // The events, which must outlive it.
  explicit CallSampleCollector(const std::vector<EventAttr>& attrs) : attrs_(attrs) {}

  // `stays`: the sample's bytes are there as long as the recording; else they are copied.
  void Add(const Sample& sample, ByteOrder order, bool stays);
  void Finish(Recording& recording) &&;

 private:
  Bytes Kept(Bytes bytes, bool stays);
  int32_t AddCopy(const Sample& sample, ByteOrder order, bool stays);

  const std::vector<EventAttr>& attrs_;
  CallSamples found_;
  size_t copied_stacks_ = 0;  // bytes
  uint64_t stacks_left_out_ = 0;
  std::vector<std::shared_ptr<const void>> copies_;
  std::shared_ptr<std::vector<uint8_t>> last_copy_;
};

}  // namespace flowback::perf
