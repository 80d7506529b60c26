// SPDX-License-Identifier: MIT
// The value engine's input: a stretch of one thread's exact flow, and known values of the thread's
// registers and memory somewhere along it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "flowback/model/code_mode.h"

namespace flowback::values {

// What else may have happened just before an instruction.
enum class Between : uint8_t {
  kNothing,
  kOthersMayWrite,   // another thread of the process may have written to memory
  kMemoryMayChange,  // a signal's handler may have, which the flow does not show
  kAllMayChange,     // the flow is missing, or control came from elsewhere
};

struct PathInstruction {
  uint64_t address = 0;
  uint64_t next = 0;  // where control went; 0: not known
  std::array<uint8_t, 16> bytes{};
  uint8_t length = 0;
  CodeMode mode = CodeMode::kX86_64;
  Between before = Between::kNothing;
  // INT 80h executed behind it, at `next`, and control came back. It makes a system call of 32-bit
  // x86, but is a trap for the processor, so that no flow has it as an instruction.
  bool then_traps = false;
};

// A point is the number of an instruction: the moment before it executes. The point behind the last
// instruction is the path's end.
struct ExecutedPath {
  // Mode of the process; after code of another mode nothing is known.
  CodeMode mode = CodeMode::kX86_64;
  std::vector<PathInstruction> instructions{};
  uint64_t end_address = 0;  // of the instruction at the end, which has not executed
  Between before_end = Between::kNothing;
  // Functions are taken to return with the stack pointer and some registers as the calling
  // convention says. That is likely, and not proven.
  bool keeps_convention = false;
  // The code there; empty: not known. A string instruction may be half done.
  std::vector<uint8_t> end_code{};
};

// Registers have the numbers of step_register (decode/instruction/effects.h): the general ones, the
// flags, and the bases of FS and GS (AArch64: the thread pointer). Flags are as in EFLAGS, those of
// AArch64 as StepFlags converts them.
struct KnownState {
  size_t point = 0;
  std::vector<std::pair<uint8_t, uint64_t>> registers{};
  // A byte of memory at that point. Empty: it is not known. May be null.
  std::function<std::optional<uint8_t>(uint64_t)> memory{};
};

struct Surroundings {
  std::vector<KnownState> states;  // by point
  // Whether only the process writes at the address, and only by the instructions of its threads and
  // by its system calls. Other memory is not followed. Null: all memory is so.
  std::function<bool(uint64_t)> is_private;
  // A byte that never changes: code, constants. May be null.
  std::function<std::optional<uint8_t>(uint64_t)> constant;
  // A signal's handler may run within any system call without the flow showing it.
  bool calls_hide_handlers = false;
};

}  // namespace flowback::values
