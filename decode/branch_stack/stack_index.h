// SPDX-License-Identifier: MIT
// Facts of a stream of branch stacks that need no code.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/recorded/branch_records.h"
#include "decode/stream_index.h"
#include "flowback/decode/trace_source.h"
#include "flowback/model/recording.h"

namespace flowback::branch_stack {

// "COND", "EMPTY", ...: what `info` counts and `--as packets` prints. Lives forever.
std::string_view NameOf(const BranchRecord& record);

// As TraceSource has them; times in ticks.
std::shared_ptr<const StreamIndex> IndexStream(const Stream& stream);
void VisitPauses(const Stream& stream, const std::function<bool(const Pause&)>& visit);
void VisitSamples(const Stream& stream, StreamRange range,
                  const std::function<void(const StreamSample&)>& visit);
// A stack's begin at or before `offset`.
uint64_t StackBefore(const Stream& stream, uint64_t offset);
// Returns the time of the first record from `offset` up to `end` that has one; 0: none has.
uint64_t FirstTime(const Stream& stream, uint64_t offset, uint64_t end);
TscInterval Times(const Stream& stream);

}  // namespace flowback::branch_stack
