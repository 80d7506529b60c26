// SPDX-License-Identifier: MIT
#include "decode/instruction/disassemble.h"

#include "decode/instruction/aarch64/disassemble.h"
#include "decode/instruction/x86/disassemble.h"

namespace flowback {

// One for each instruction set, by the set's name.
struct Disassembler::Sets {
  ::flowback::x86::Disassembler x86;
  ::flowback::aarch64::Disassembler aarch64;
};

Disassembler::Disassembler() : sets_(std::make_unique<Sets>()) {}
Disassembler::~Disassembler() = default;

std::string Disassembler::Text(Bytes code, uint64_t address, CodeMode mode) {
  switch (mode) {
#define FLOWBACK_CODE_MODE(id, set, ...) \
  case CodeMode::id:                     \
    return sets_->set.Text(code, address, mode);
#include "flowback/model/code_modes.def"
  }
  return "(bad)";
}

}  // namespace flowback
