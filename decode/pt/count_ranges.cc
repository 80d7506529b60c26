// SPDX-License-Identifier: MIT
#include "decode/pt/count_ranges.h"

#include "decode/pt/engine/flow_bind.h"
#include "decode/pt/engine/flow_engine.h"
#include "decode/pt/engine/flow_hot.h"
#include "decode/pt/engine/flow_memo.h"
#include "decode/pt/engine/flow_packets.h"
#include "decode/pt/engine/flow_segments.h"
#include "decode/pt/engine/flow_sync.h"
#include "decode/pt/engine/flow_walk.h"
#include "decode/pt/sinks/range_sink.h"

namespace flowback::pt {

ByteAccount CountRanges(const DecodeInput& input, CodeMemory& memory, ExecutionConsumer& consumer,
                        RangeConsumer& ranges) {
  CodeView code(*input.code, memory.graphs);
  RangeSink sink(consumer, ranges);
  const ByteAccount account = FlowEngine<RangeSink>(input, code, memory.memos, sink).Run();
  sink.Finish();
  return account;
}

}  // namespace flowback::pt
