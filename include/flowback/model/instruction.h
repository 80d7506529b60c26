// SPDX-License-Identifier: MIT
// What the flow needs to know of one instruction.
#pragma once

#include <cstdint>

#include "flowback/model/code_mode.h"

namespace flowback {

// How an instruction transfers control, as far as branch traces tell classes apart.
enum class InstructionClass : uint8_t {
  kOther,         // no transfer
  kConditional,   // Jcc, JRCXZ, LOOPcc: one TNT bit
  kJump,          // direct: no packet
  kCall,          // direct near call: no packet
  kIndirectJump,  // TIP
  kIndirectCall,  // TIP
  kReturn,        // near return: taken TNT bit or TIP
  kFarCall,       // far CALL, SYSCALL, SYSENTER, INT n, INT3, INT1: TIP. Not INTO, VMCALL: FUP
  kFarJump,       // far JMP: TIP
  kFarReturn,     // far RET, IRET, SYSRET, SYSEXIT, UIRET, ERETU, ERETS, VM entry, RSM: TIP
};

// Further properties that bind packets to an instruction.
enum InstructionFlag : uint8_t {
  kFlagPtwrite = 1 << 0,   // PTW binds here
  kFlagMovCr3 = 1 << 1,    // PIP binds here
  kFlagVmEntry = 1 << 2,   // VMLAUNCH, VMRESUME (erratum SKD022, VMCS binds)
  kFlagVmPtrld = 1 << 3,   // VMCS binds here
  kFlagSyscall = 1 << 4,   // SYSCALL, SYSENTER, INT n: changes CPL to 0
  kFlagZeroCall = 1 << 5,  // CALL to the next instruction: not pushed for return compression
  kFlagRep = 1 << 6,       // rep-prefixed string instruction: may be interrupted midway
};

struct Instruction {
  uint8_t length = 0;  // bytes, at least 1
  InstructionClass kind = InstructionClass::kOther;
  uint8_t flags = 0;
  // For direct branches: target = mask(address + length + displacement). For 16-bit operand size
  // the target is truncated: see `target_mask`.
  int64_t displacement = 0;
  uint64_t target_mask = ~uint64_t{0};
  uint64_t kept_address_bits = 0;  // taken over from `address`: 16-bit code wraps in its 64 KiB

  uint64_t Target(uint64_t address) const {
    return ((address + length + static_cast<uint64_t>(displacement)) & target_mask) |
           (address & kept_address_bits);
  }
};

inline bool IsDirect(InstructionClass c) {
  return c == InstructionClass::kConditional || c == InstructionClass::kJump ||
         c == InstructionClass::kCall;
}
// A jump or call whose target the code alone does not contain.
inline bool IsIndirect(InstructionClass c) {
  return c == InstructionClass::kIndirectJump || c == InstructionClass::kIndirectCall;
}
inline bool IsFar(InstructionClass c) { return c >= InstructionClass::kFarCall; }

}  // namespace flowback
