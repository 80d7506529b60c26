// SPDX-License-Identifier: MIT
// How often each block of code was executed, and where control went behind it: what coverage and
// profiles need of a flow, without its order.
//
//   uses:     401000 dec; jne 401000   whole, taken       99
//             401000 dec; jne 401000   whole, not taken    1
//             401005 ...; call *rax    whole, taken        4
//   targets:  401009 -> 401200         3
//             401009 -> 401340         1
//
// The instructions of all uses are those of the flow's digest, each as often.
#pragma once

#include <cstdint>
#include <vector>

#include "flowback/model/block_batch.h"
#include "flowback/model/execution.h"

namespace flowback {

// Executions of a block that ended in the same way.
struct BlockUse {
  CodeBlock block;
  uint16_t count = 0;  // instructions that executed: all of the block's, or its first ones
  BlockExit exit = BlockExit::kFallThrough;
  uint64_t times = 0;
};

// Where a call, or an indirect jump, led.
struct BlockTarget {
  uint64_t branch = 0;  // its address
  InstructionClass kind = InstructionClass::kOther;
  uint64_t target = 0;
  uint64_t times = 0;
};
// Whether BlockCounts::targets has it.
inline bool HasTarget(InstructionClass kind) {
  return IsIndirect(kind) || kind == InstructionClass::kCall;
}

// Counts of one address space, in one mode; in no order. A block may be there several times, and
// blocks may overlap: one begins wherever control came to.
struct BlockCounts {
  const AddressSpace* space = nullptr;  // lives as long as the code decoded against
  CodeMode mode = CodeMode::kX86_64;
  std::vector<BlockUse> uses;
  std::vector<BlockTarget> targets;
};

// Receives the counts of a flow.
class BlockCountConsumer {
 public:
  virtual ~BlockCountConsumer() = default;
  // Receives the counts of a part of the flow, in program order. `stay` is null if the input has no
  // stays. The pointers are valid during the call only, except for the space and the stay.
  virtual void OnCounts(const ThreadStay* stay, const BlockCounts& counts) = 0;
};

}  // namespace flowback
