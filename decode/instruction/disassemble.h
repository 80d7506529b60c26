// SPDX-License-Identifier: MIT
// Prints instructions of any instruction set as text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "flowback/base/bytes.h"
#include "flowback/model/instruction.h"

namespace flowback {

// Thread-safety: one object per thread.
class Disassembler {
 public:
  Disassembler();
  ~Disassembler();
  Disassembler(const Disassembler&) = delete;
  Disassembler& operator=(const Disassembler&) = delete;

  // The instruction at the start of `code`, which runs at `address`: "jne 0x401005". "(bad)": the
  // code begins with no instruction.
  std::string Text(Bytes code, uint64_t address, CodeMode mode);

 private:
  struct Sets;
  std::unique_ptr<Sets> sets_;
};

}  // namespace flowback
