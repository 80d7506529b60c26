// SPDX-License-Identifier: MIT
// How often each range of code ran, for consumers that need no more of the flow than that: code
// that ran in a line up to a branch that was taken, and where that led.
//
//   401000 ... jne 401000 ... jmp 401080        401000 to the jne, to 401000    9 times
//                                               401000 to the jmp, to 401080    once
//
// A decoder that keeps what runs of packets lead to counts whole runs of packets. It does so
// between two blocks that it hands on by themselves (ExecutionConsumer::OnBlock).
#pragma once

#include <cstdint>
#include <span>

#include "flowback/model/block_batch.h"

namespace flowback {

class RangeConsumer {
 public:
  virtual ~RangeConsumer() = default;
  // A range runs for the first time: `steps` of the table's blocks, of which the last one alone was
  // taken; it led to the block of the step `next`. Returns a number for the range, of the
  // consumer's choice.
  virtual uint32_t OnNewRange(const BlockTable& table, std::span<const BlockStep> steps,
                              BlockStep next) = 0;
  // The range ran so many times since the last call. Called once the flow has been decoded.
  virtual void OnRange(uint32_t range, uint64_t times) = 0;
  // Ranges ran that are counted, and what comes next is handed on by itself. Either the last step
  // of `steps` was taken, and it is the last one of a counted range; or `steps` are the part that
  // has run of a range that is not counted. The flow goes on at the address `next`.
  virtual void OnRangesEnd(const BlockTable& table, std::span<const BlockStep> steps,
                           uint64_t next) = 0;
};

}  // namespace flowback
