// SPDX-License-Identifier: MIT
// Whether the code alone shows that a loop is work, however a thread goes round it.
//
//   L:  mov  (%r9,%r8,4), %eax     Two ways lead from L to the jump back. One stores to memory,
//       cmp  $1, %eax              which no trip that waits does. The other one counts r8: work.
//       jbe  N                     So no trip of this loop waits, even if only a few were seen.
//       mov  %eax, (%rdi)
//   N:  add  $1, %r8
//       cmp  $4, %r8
//       jne  L
//
// Code that never executed proves nothing, and can be left out: a call of a function that reports
// an error is in no trip of a thread that made no such call. So a loop may also be proven by those
// ways alone that threads went. As soon as they go another way, the loop is proven again.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/locks/loops/loop_blocks.h"
#include "replay/locks/loops/step_graph.h"

namespace flowback {

// A function that the loop calls by its address is gone through as part of the way. Returns false
// if some way round may wait, pauses, has an atomic operation, or has a jump or call to an address
// that the code does not contain, and if there are too many ways. The result depends on nothing but
// the code. Takes up to some milliseconds. REQUIRES: the block has a branch.
bool IsWorkByCode(const LoopBlock& block);

// The same, found out once and kept in the block.
bool IsProvenWork(LoopBlock& block);

// A proof by those ways alone that threads went so far. It holds until they go others.
class ProofByWays {
 public:
  // Whether the loop is work. `graph` knows all ways so far, and is the same one each time.
  bool Holds(const LoopBlock& block, const StepGraph& graph);

 private:
  // A way that a block was not left, by its last instruction.
  struct Untaken {
    uint64_t last = 0;
    uint8_t way = 0;
  };
  friend class LoopProof;

  unsigned attempts_ = 0;
  bool holds_ = false;
  uint64_t changes_ = 0;  // of the graph when it was asked last
  std::vector<Untaken> untaken_;
};

}  // namespace flowback
