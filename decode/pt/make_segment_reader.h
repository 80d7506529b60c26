// SPDX-License-Identifier: MIT
// A door to segment_reader.h, whose engines take long to compile.
#pragma once

#include <memory>

#include "decode/pt/memo/memo_cache.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/flow_reader.h"

namespace flowback::pt {

// Both must outlive it.
std::unique_ptr<FlowReader> MakeSegmentReader(const DecodeInput& input, CodeMemory& memory);

}  // namespace flowback::pt
