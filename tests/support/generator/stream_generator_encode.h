// SPDX-License-Identifier: MIT
// Machine code of single random instructions.
#pragma once

#include <array>
#include <cstdint>

#include "flowback/model/instruction.h"
#include "tests/support/random.h"

namespace flowback::testing {

// Up to 15 bytes of one instruction.
struct Code {
  std::array<uint8_t, 16> bytes{};
  uint8_t size = 0;

  void Add(uint8_t byte) { bytes[size++] = byte; }
  void Add(std::initializer_list<uint8_t> more) {
    for (uint8_t byte : more) Add(byte);
  }
  // Little-endian, `width` bytes.
  void AddValue(uint64_t value, unsigned width) {
    for (unsigned i = 0; i < width; ++i) Add(static_cast<uint8_t>(value >> (8 * i)));
  }
};

class InstructionEncoder {
 public:
  InstructionEncoder(CodeMode mode, Random& random)
      : wide_(mode == CodeMode::kX86_64), random_(random) {}

  void SetMode(CodeMode mode) { wide_ = mode == CodeMode::kX86_64; }

  // No branch, and no packet.
  Code Plain();
  Code RepString();
  Code Ptwrite();
  Code IndirectJump() { return Indirect(4); }
  Code IndirectCall() { return Indirect(2); }
  Code Return();
  Code SystemCall();
  Code SoftInterrupt();
  Code SystemReturn();
  Code InterruptReturn();
  Code MovCr3();
  Code FarJump();
  Code TransactionEnd();
  Code TransactionAbort();
  Code Pop();

 private:
  Code Indirect(uint8_t reg);
  Code Integer();
  Code Immediate();
  Code Vector();
  Code Nop();
  Code Fixed();
  Code Locked();
  // A ModRM byte and what follows it, with a random operand; `memory`: not a register.
  void AddModRm(Code& code, uint8_t reg, bool memory = false);
  void AddMemory(Code& code, uint8_t reg);
  // Perhaps a REX prefix; must come right before the opcode.
  void AddRex(Code& code, bool w_allowed = true);
  uint8_t AnyReg() { return static_cast<uint8_t>(random_.Below(8)); }

  bool wide_;
  Random& random_;
};

}  // namespace flowback::testing
