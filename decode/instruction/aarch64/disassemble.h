// SPDX-License-Identifier: MIT
// decode/instruction/disassemble.h for AArch64, by LLVM.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "decode/instruction/llvm_disassembler.h"
#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"

namespace flowback::aarch64 {

// With all that the architecture has: which of it a processor has is not known here.
inline constexpr LlvmTarget kLlvmTarget = {.name = "AArch64",
                                           .triple = "aarch64-unknown-linux-gnu",
                                           .features = "+all",
                                           .hexadecimal = true};

// Thread-safety: one object per thread.
class Disassembler {
 public:
  // "b.ne 0x401010"; ".inst 0xd503201f" where LLVM knows the word and is not installed; "(bad)"
  // where it is no instruction.
  std::string Text(Bytes code, uint64_t address, CodeMode mode);

 private:
  std::unique_ptr<LlvmDisassembler> llvm_;  // made when there is text to write
};

}  // namespace flowback::aarch64
