// SPDX-License-Identifier: MIT
// decode/instruction/classify.h for x86, in its three modes.
#pragma once

#include "decode/instruction/x86/common_form.h"
#include "flowback/base/bytes.h"
#include "flowback/model/instruction.h"

namespace flowback::x86 {

// Common forms are kept of 64-bit code only.
inline bool ClassifyCommonForm(Bytes code, CodeMode mode, Instruction& out) {
  return mode == CodeMode::kX86_64 && ClassifyCommonForm(code, out);
}
bool ClassifyAnyForm(Bytes code, CodeMode mode, Instruction& out, bool* needed_llvm = nullptr);
uint64_t ClassifierLibraryVersion();

}  // namespace flowback::x86
