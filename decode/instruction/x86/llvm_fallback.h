// SPDX-License-Identifier: MIT
// LLVM's disassembler, for instructions that Zydis does not know.
#pragma once

#include <string>

#include "flowback/base/bytes.h"
#include "flowback/model/instruction.h"

namespace flowback::x86 {

// Length of the instruction at the start of `code`, 0 when LLVM knows none there or libLLVM is not
// installed. `text`, where wanted, receives its Intel-syntax text. Thread-safe; the first call
// costs some ten milliseconds, because it loads libLLVM.
unsigned LlvmDisassemble(Bytes code, uint64_t address, CodeMode mode, std::string* text = nullptr);

}  // namespace flowback::x86
