// SPDX-License-Identifier: MIT
// The outcome of one single-step, from the instruction before it and the addresses around it.
#pragma once

#include "flowback/base/bytes.h"
#include "flowback/model/instruction.h"

namespace flowback::record {

enum class Outcome : uint8_t {
  kSequential,    // went on to the next instruction; for a conditional branch: not taken
  kTaken,         // transferred control as its class says
  kRepeats,       // one iteration of a rep string instruction; more to come
  kEitherWay,     // a conditional branch whose target is the next instruction: the flags decide
  kEntersKernel,  // SYSCALL or SYSENTER
  kTrapped,       // not explained by the instruction: a trap, a fault, an aborted transaction
};

// `code` holds the instruction's bytes, `ip` its address, `next` where the thread stands after it.
Outcome Interpret(const Instruction& instruction, Bytes code, uint64_t ip, uint64_t next);

// Whether a conditional branch is taken: its condition evaluated on the registers it left
// unchanged. `rcx` is the value after the instruction (LOOP has counted down already).
bool ConditionHolds(Bytes code, uint64_t rflags, uint64_t rcx);

// XBEGIN, which aborts at once under single-step: `code` as above.
bool IsTransactionBegin(const Instruction& instruction, Bytes code);
// INT3, INT1, INT n, INTO: a trap comes after them, which is the program's own and no step.
bool RaisesTrap(const Instruction& instruction, Bytes code);
// INT1, whose trap looks like a step's.
bool IsInt1(const Instruction& instruction, Bytes code);
// PUSHF, which would push the trap flag.
bool IsPushFlags(Bytes code);

}  // namespace flowback::record
