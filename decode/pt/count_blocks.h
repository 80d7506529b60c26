// SPDX-License-Identifier: MIT
// Counting the executions of blocks; compiled by itself, as it is another instance of the engine.
#pragma once

#include <cstddef>
#include <deque>

#include "decode/pt/memo/memo_cache.h"
#include "flowback/decode/decoder.h"
#include "flowback/model/block_counts.h"

namespace flowback::pt {

// As Decoder::Count. REQUIRES: the input has code.
FlowSummary CountBlocks(const DecodeInput& input, CodeMemory& memory, BlockCountConsumer& consumer);
// The same on several threads: as ParallelCounter.
FlowSummary CountBlocks(const DecodeInput& input, std::deque<CodeMemory>& memory,
                        size_t segment_size, size_t in_flight, BlockCountConsumer& consumer);

}  // namespace flowback::pt
