// SPDX-License-Identifier: MIT
// What the value engine must know of an instruction beside its steps: where control may go, and
// whether the steps are exact enough to prove values with.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "replay/values/path.h"

namespace flowback::values {

struct InstructionFacts {
  uint64_t next = 0;               // where the flow says that control went; 0: not known
  uint64_t behind = 0;             // the address behind the instruction
  std::optional<uint64_t> target;  // of a direct jump, call or conditional jump
  bool falls_through = true;       // control may go on behind it
  bool is_indirect = false;        // control goes to a computed address
  bool is_conditional = false;
  bool decides_by_flags = false;  // a conditional jump whose flags alone decide
  bool is_system_call = false;    // SYSCALL; INT 0x80 of 32-bit code; SVC
  bool has_mask = false;          // it may write less than its steps say
  // A string instruction that writes to memory: the bytes of an element; 0: it is none. It writes
  // one, or, where it repeats, as many as RCX says.
  uint8_t element = 0;
  bool repeats = false;
  // AArch64's DC ZVA: the register with the address.
  std::optional<uint8_t> zeroes_block{};
  bool is_opaque = false;  // its steps are not exact: everything is unknown behind it

  // Whether control went from the instruction to that address by itself, not by a signal or by a
  // hole in the flow.
  bool LeadsTo(uint64_t address) const;
};

// `mode`: the process's.
InstructionFacts FactsOf(const PathInstruction& instruction, CodeMode mode);

// Whether the code begins with a string instruction of x86 that repeats: one that a signal may find
// half done.
bool Repeats(std::span<const uint8_t> code, CodeMode mode);

}  // namespace flowback::values
