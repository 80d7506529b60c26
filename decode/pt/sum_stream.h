// SPDX-License-Identifier: MIT
// A stream's totals in one go.
#pragma once

#include <utility>

#include "decode/pt/engine/flow_engine.h"
#include "decode/pt/memo/memo_cache.h"
#include "flowback/decode/decoder.h"

namespace flowback::pt {

// `sink` is a new one.
template <FlowSink Sink>
FlowSummary SumStream(const DecodeInput& input, CodeMemory& memory, Sink& sink) {
  CodeView code(*input.code, memory.graphs);
  FlowEngine<Sink> engine(input, code, memory.memos, sink);
  const ByteAccount account = engine.Run();
  FlowSummary summary = std::move(sink).Summary();
  summary.bytes_decoded = account.decoded;
  summary.bytes_padding = account.padding;
  summary.bytes_lost = account.lost;
  summary.first_tsc = engine.clock().first_tsc();
  summary.last_tsc = engine.clock().tsc();
  if (!summary.parts.empty() && summary.parts.front().totals.first_tsc == 0)
    summary.parts.front().totals.first_tsc = summary.first_tsc;
  return summary;
}

}  // namespace flowback::pt
