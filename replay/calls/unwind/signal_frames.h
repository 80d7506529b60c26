// SPDX-License-Identifier: MIT
// How to go from a signal's handler to the interrupted code without a table: by the code that the
// handler returns to, which asks the kernel to put the registers back, and by where the kernel has
// kept these on the stack.
//
//   handler -> trampoline: mov $15, %rax; syscall     the stack pointer then leads to the registers
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "flowback/model/code_mode.h"
#include "replay/symbols/frames/unwind_table.h"

namespace flowback {

struct InterruptedRegisters {
  uint64_t counter = 0;
  // By DWARF's numbers; empty: not followed.
  std::array<std::optional<uint64_t>, symbols::kFrameRegisters> registers;
};

// Copies memory of that size, 8 at most, as a number. Empty: it is not known.
using ReadWord = std::function<std::optional<uint64_t>(uint64_t address, unsigned size)>;

// Whether a handler returns to `address`; then the registers of what it interrupted, if they are in
// the memory. `stack_pointer`: as the trampoline has it at its begin; empty: not known.
struct SignalReturn {
  bool is_there = false;
  std::optional<InterruptedRegisters> registers{};
};
SignalReturn SignalReturnAt(CodeMode mode, uint64_t address, std::optional<uint64_t> stack_pointer,
                            const ReadWord& memory);

}  // namespace flowback
