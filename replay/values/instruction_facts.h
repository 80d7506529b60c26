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
  bool is_system_call = false;    // SYSCALL
  bool has_mask = false;          // of the elements that it writes
  bool is_opaque = false;         // its steps are not exact: everything is unknown behind it

  // Whether control went from the instruction to that address by itself, not by a signal or by a
  // hole in the flow.
  bool LeadsTo(uint64_t address) const;
};

InstructionFacts FactsOf(const PathInstruction& instruction);

// Whether the code begins with a string instruction that repeats: one that a signal may find half
// done.
bool Repeats(std::span<const uint8_t> code);

}  // namespace flowback::values
