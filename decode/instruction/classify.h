// SPDX-License-Identifier: MIT
// Length and class of one instruction of any instruction set. All are thread-safe.
#pragma once

#include "flowback/base/bytes.h"
#include "flowback/model/instruction.h"

namespace flowback {

// The instruction at the start of `code`; bytes after it are not looked at. False when `code` ends
// inside the instruction or holds none; `out` is then unspecified.
bool Classify(Bytes code, CodeMode mode, Instruction& out);
// The short way, by which Classify goes first. False also where the instruction is none of the
// common forms that it knows, or `code` is shorter than an instruction may be.
bool ClassifyCommonForm(Bytes code, CodeMode mode, Instruction& out);
// The long way. `needed_llvm`, if not null, is set to whether the answer depends on libLLVM being
// installed.
bool ClassifyAnyForm(Bytes code, CodeMode mode, Instruction& out, bool* needed_llvm = nullptr);
// Changes with the libraries that classify what has no common form.
uint64_t ClassifierLibraryVersion();

}  // namespace flowback
