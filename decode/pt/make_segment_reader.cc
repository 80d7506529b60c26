// SPDX-License-Identifier: MIT
#include "decode/pt/make_segment_reader.h"

#include "decode/pt/engine/flow_bind.h"
#include "decode/pt/engine/flow_hot.h"
#include "decode/pt/engine/flow_memo.h"
#include "decode/pt/engine/flow_packets.h"
#include "decode/pt/engine/flow_sync.h"
#include "decode/pt/engine/flow_walk.h"
#include "decode/pt/segment_reader.h"
#include "decode/pt/time/time_estimator.h"

namespace flowback::pt {

std::unique_ptr<FlowReader> MakeSegmentReader(const DecodeInput& input, CodeMemory& memory) {
  if (input.times)
    return std::make_unique<SegmentReader<TimeEstimator>>(
        input, memory, [](ExecutionConsumer& consumer, const DecodeInput& of) {
          return TimeEstimator(consumer, PtConfigOf(of.config));
        });
  return std::make_unique<SegmentReader<BatchWriter>>(
      input, memory,
      [](ExecutionConsumer& consumer, const DecodeInput&) { return BatchWriter(consumer); });
}

}  // namespace flowback::pt
