// SPDX-License-Identifier: MIT
// Length and class of one x86 instruction.
#pragma once

#include "flowback/base/bytes.h"
#include "flowback/model/instruction.h"

namespace flowback {

constexpr unsigned kMaxInstructionBytes = 15;

// The instruction at the start of `code`; bytes after it are not looked at. False when `code` ends
// inside the instruction or holds none; `out` is then unspecified. Thread-safe.
bool Classify(Bytes code, ExecMode mode, Instruction& out);
// The same, without the short way for common forms. `needed_llvm`, where wanted, tells whether the
// answer depends on libLLVM being installed.
bool ClassifyAnyForm(Bytes code, ExecMode mode, Instruction& out, bool* needed_llvm = nullptr);
// Changes with the library that classifies what has no common form.
uint64_t ClassifierLibraryVersion();

}  // namespace flowback
