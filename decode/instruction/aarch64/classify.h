// SPDX-License-Identifier: MIT
// decode/instruction/classify.h for AArch64. Every instruction has 4 bytes.
#pragma once

#include "flowback/base/bytes.h"
#include "flowback/model/instruction.h"

namespace flowback::aarch64 {

bool ClassifyCommonForm(Bytes code, CodeMode mode, Instruction& out);
bool ClassifyAnyForm(Bytes code, CodeMode mode, Instruction& out, bool* needed_llvm = nullptr);
uint64_t ClassifierLibraryVersion();

}  // namespace flowback::aarch64
