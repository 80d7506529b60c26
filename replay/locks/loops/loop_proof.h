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
#pragma once

#include "replay/locks/loops/loop_blocks.h"

namespace flowback {

// False where some way round may wait, pauses, calls a function, has an atomic operation or a jump
// that leads nobody knows where, or where there are too many ways. What it returns depends on
// nothing but the code. Takes up to some milliseconds. REQUIRES: the block has a branch.
bool IsWorkByCode(const LoopBlock& block);

}  // namespace flowback
