// SPDX-License-Identifier: MIT
// A decode for consumers that count ranges of code; compiled by itself, as it is another instance
// of the engine.
#pragma once

#include "decode/pt/memo/memo_cache.h"
#include "flowback/decode/decoder.h"
#include "flowback/model/range_consumer.h"

namespace flowback::pt {

// As Decoder::Decode. `ranges` is the consumer's own. REQUIRES: the input has code, and wants no
// times.
ByteAccount CountRanges(const DecodeInput& input, CodeMemory& memory, ExecutionConsumer& consumer,
                        RangeConsumer& ranges);

}  // namespace flowback::pt
