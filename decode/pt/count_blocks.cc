// SPDX-License-Identifier: MIT
#include "decode/pt/count_blocks.h"

#include "decode/pt/engine/flow_bind.h"
#include "decode/pt/engine/flow_hot.h"
#include "decode/pt/engine/flow_memo.h"
#include "decode/pt/engine/flow_packets.h"
#include "decode/pt/engine/flow_sync.h"
#include "decode/pt/engine/flow_walk.h"
#include "decode/pt/parallel_count.h"
#include "decode/pt/sinks/block_counting_sink.h"
#include "decode/pt/sum_stream.h"

namespace flowback::pt {

FlowSummary CountBlocks(const DecodeInput& input, CodeMemory& memory,
                        BlockCountConsumer& consumer) {
  BlockCountingSink sink(&consumer);
  return SumStream(input, memory, sink);
}

FlowSummary CountBlocks(const DecodeInput& input, std::deque<CodeMemory>& memory,
                        size_t segment_size, size_t in_flight, BlockCountConsumer& consumer) {
  return ParallelCounter<BlockCountingSink>(input, memory, segment_size, in_flight, &consumer)
      .Run();
}

}  // namespace flowback::pt
