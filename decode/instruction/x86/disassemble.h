// SPDX-License-Identifier: MIT
// decode/instruction/disassemble.h for x86: in Intel syntax.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "flowback/base/bytes.h"
#include "flowback/model/instruction.h"

namespace flowback::x86 {

// Thread-safety: one object per thread.
class Disassembler {
 public:
  Disassembler();
  ~Disassembler();
  Disassembler(const Disassembler&) = delete;
  Disassembler& operator=(const Disassembler&) = delete;

  // By capstone; by Zydis where they disagree in length or name, because then Zydis has been right;
  // by LLVM where neither knows the instruction; "(bad)" where no one does.
  std::string Text(Bytes code, uint64_t address, CodeMode mode);

 private:
  struct Engines;
  std::unique_ptr<Engines> engines_;
};

// Whether capstone's and Zydis's mnemonics are names of one instruction: "je" and "jz".
bool AreSameMnemonic(std::string_view capstone, std::string_view zydis);

}  // namespace flowback::x86
