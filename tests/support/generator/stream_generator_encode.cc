// SPDX-License-Identifier: MIT
#include "tests/support/generator/stream_generator_encode.h"

namespace flowback::testing {

void InstructionEncoder::AddRex(Code& code, bool w_allowed) {
  if (!wide_ || random_.Chance(400)) return;
  const uint8_t w = w_allowed && random_.Chance(600) ? 8 : 0;
  code.Add(static_cast<uint8_t>(0x40 | w | random_.Below(8)));
}

// Addressing forms of the manual's tables 2-2 and 2-3: every combination of mod, rm, SIB and
// displacement size that a compiler uses, and the odd ones it does not.
void InstructionEncoder::AddMemory(Code& code, uint8_t reg) {
  const uint8_t mod = static_cast<uint8_t>(random_.Below(3));
  const uint8_t rm = AnyReg();
  code.Add(static_cast<uint8_t>(mod << 6 | reg << 3 | rm));
  unsigned displacement = mod == 0 ? 0 : mod == 1 ? 1 : 4;
  if (rm == 4) {
    const uint8_t sib = static_cast<uint8_t>(random_.Below(256));
    code.Add(sib);
    if (mod == 0 && (sib & 7) == 5) displacement = 4;
  } else if (rm == 5 && mod == 0) {
    displacement = 4;
  }
  code.AddValue(random_.Next(), displacement);
}

void InstructionEncoder::AddModRm(Code& code, uint8_t reg, bool memory) {
  if (memory || random_.Chance(450)) return AddMemory(code, reg);
  code.Add(static_cast<uint8_t>(0xc0 | reg << 3 | AnyReg()));
}

Code InstructionEncoder::Integer() {
  static constexpr uint8_t kOneByte[] = {0x01, 0x03, 0x09, 0x0b, 0x13, 0x1b, 0x21, 0x23,
                                         0x29, 0x2b, 0x31, 0x33, 0x38, 0x39, 0x3b, 0x84,
                                         0x85, 0x88, 0x89, 0x8a, 0x8b, 0x89, 0x8b, 0x87};
  static constexpr uint8_t kTwoByte[] = {0xaf, 0xb6, 0xb7, 0xbe, 0xbf, 0x44, 0x45, 0x4c,
                                         0x4f, 0x94, 0x95, 0x9f, 0xa3, 0xbc, 0xbd, 0xc1};
  Code code;
  if (random_.Chance(60)) code.Add(0x66);
  if (random_.Chance(20)) code.Add(0x64);
  AddRex(code);
  if (random_.Chance(100)) {
    code.Add(0x8d);
    AddModRm(code, AnyReg(), true);
    return code;
  }
  if (random_.Chance(250)) {
    code.Add({0x0f, random_.Pick(kTwoByte)});
  } else {
    code.Add(random_.Pick(kOneByte));
  }
  AddModRm(code, AnyReg());
  return code;
}

Code InstructionEncoder::Immediate() {
  Code code;
  const bool narrow = random_.Chance(60);  // a length-changing prefix with 81, C7, B8
  if (narrow) code.Add(0x66);
  const unsigned size = narrow ? 2 : 4;
  switch (random_.Below(6)) {
    case 0:
      code.Add(0x83);
      AddModRm(code, AnyReg());
      code.AddValue(random_.Next(), 1);
      break;
    case 1:
      code.Add(0x81);
      AddModRm(code, AnyReg());
      code.AddValue(random_.Next(), size);
      break;
    case 2:
      code.Add(0xc7);
      AddModRm(code, 0);
      code.AddValue(random_.Next(), size);
      break;
    case 3:
      code.Add(0xc1);
      AddModRm(code, static_cast<uint8_t>(random_.Below(6)));
      code.AddValue(random_.Next(), 1);
      break;
    case 4:
      code.Add(0xf7);
      AddModRm(code, 0);
      code.AddValue(random_.Next(), size);
      break;
    default:
      if (wide_ && !narrow && random_.Chance(300)) {
        code.Add({0x48, static_cast<uint8_t>(0xb8 | AnyReg())});
        code.AddValue(random_.Next(), 8);
      } else {
        code.Add(static_cast<uint8_t>(0xb8 | AnyReg()));
        code.AddValue(random_.Next(), size);
      }
  }
  return code;
}

Code InstructionEncoder::Vector() {
  Code code;
  switch (random_.Below(7)) {
    case 0: {  // SSE, unprefixed
      static constexpr uint8_t kOps[] = {0x10, 0x11, 0x28, 0x58, 0x59, 0x5c, 0x54, 0x57, 0x14};
      AddRex(code, false);
      code.Add({0x0f, random_.Pick(kOps)});
      AddModRm(code, AnyReg());
      break;
    }
    case 1: {  // SSE with a mandatory prefix
      static constexpr uint8_t kPrefixes[] = {0x66, 0xf2, 0xf3};
      static constexpr uint8_t kOps[] = {0x10, 0x58, 0x59, 0x5c, 0x5e, 0x51};
      code.Add(random_.Pick(kPrefixes));
      AddRex(code, false);
      code.Add({0x0f, random_.Pick(kOps)});
      AddModRm(code, AnyReg());
      break;
    }
    case 2: {
      static constexpr uint8_t kOps[] = {0x6f, 0xef, 0xd4, 0xfe, 0xdb, 0x74, 0x60};
      code.Add(0x66);
      AddRex(code, false);
      code.Add({0x0f, random_.Pick(kOps)});
      AddModRm(code, AnyReg());
      break;
    }
    case 3:  // PSHUFB
      code.Add({0x66, 0x0f, 0x38, 0x00});
      AddModRm(code, AnyReg());
      break;
    case 4:  // PALIGNR
      code.Add({0x66, 0x0f, 0x3a, 0x0f});
      AddModRm(code, AnyReg());
      code.AddValue(random_.Next(), 1);
      break;
    case 5:  // VADDPS, VPSHUFB
      if (random_.Chance(500)) {
        code.Add({0xc5, 0xf8, 0x58});
      } else {
        code.Add({0xc4, 0xe2, 0x79, 0x00});
      }
      AddModRm(code, AnyReg());
      break;
    default:  // VADDPS zmm
      code.Add({0x62, 0xf1, 0x7c, 0x48, 0x58});
      AddModRm(code, AnyReg());
  }
  return code;
}

Code InstructionEncoder::Nop() {
  Code code;
  switch (random_.Below(6)) {
    case 0:
      code.Add(0x90);
      break;
    case 1:
      code.Add({0x66, 0x90});
      break;
    case 2:
      code.Add({0xf3, 0x90});
      break;
    case 3:
      code.Add({0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00});
      break;
    default:
      if (random_.Chance(300)) code.Add(0x66);
      code.Add({0x0f, 0x1f});
      AddModRm(code, 0, true);
  }
  return code;
}

Code InstructionEncoder::Fixed() {
  Code code;
  switch (random_.Below(wide_ ? 9 : 10)) {
    case 0:
      code.Add({0x0f, 0xa2});
      break;
    case 1:
      code.Add({0x0f, 0x31});
      break;
    case 2:
      code.Add({0x0f, 0xae, 0xe8});
      break;
    case 3:
      code.Add(0x99);
      break;
    case 4:
      code.Add(static_cast<uint8_t>(0x50 | AnyReg()));
      break;
    case 5:
      code.Add(static_cast<uint8_t>(0x58 | AnyReg()));
      break;
    case 6:
      code.Add({0xf3, 0x0f, 0x1e, static_cast<uint8_t>(wide_ ? 0xfa : 0xfb)});  // ENDBR
      break;
    case 7:
      code.Add({0xd9, static_cast<uint8_t>(0xc0 | AnyReg())});
      break;
    case 8:
      code.Add(0xa4);
      break;
    default:
      code.Add(static_cast<uint8_t>(0x40 | random_.Below(16)));  // INC, DEC
  }
  return code;
}

Code InstructionEncoder::Locked() {
  Code code;
  code.Add(0xf0);
  AddRex(code);
  if (random_.Chance(500)) {
    code.Add({0x0f, 0xb1});
    AddModRm(code, AnyReg(), true);
  } else {
    code.Add(0x83);
    AddModRm(code, 0, true);
    code.AddValue(random_.Next(), 1);
  }
  return code;
}

Code InstructionEncoder::Plain() {
  const uint64_t kind = random_.Below(100);
  if (kind < 50) return Integer();
  if (kind < 68) return Immediate();
  if (kind < 80) return Vector();
  if (kind < 88) return Nop();
  if (kind < 97) return Fixed();
  return Locked();
}

Code InstructionEncoder::RepString() {
  static constexpr uint8_t kPrefixes[] = {0xf2, 0xf3, 0xf3};
  static constexpr uint8_t kOps[] = {0xa4, 0xa5, 0xa6, 0xaa, 0xab, 0xae};
  Code code;
  code.Add(random_.Pick(kPrefixes));
  if (wide_ && random_.Chance(500)) code.Add(0x48);
  code.Add(random_.Pick(kOps));
  return code;
}

Code InstructionEncoder::Ptwrite() {
  Code code;
  code.Add(0xf3);
  if (wide_ && random_.Chance(500)) code.Add(0x48);
  code.Add({0x0f, 0xae});
  AddModRm(code, 4);
  return code;
}

Code InstructionEncoder::Indirect(uint8_t reg) {
  Code code;
  const uint64_t prefix = random_.Below(10);
  if (prefix == 0) code.Add(0x3e);  // NOTRACK
  if (prefix == 1) code.Add(0xf2);  // BND
  AddRex(code, false);
  code.Add(0xff);
  AddModRm(code, reg);
  return code;
}

Code InstructionEncoder::Return() {
  Code code;
  switch (random_.Below(8)) {
    case 0:
      code.Add(0xc2);
      code.AddValue(8 * random_.Below(8), 2);
      break;
    case 1:
      code.Add({0xf3, 0xc3});
      break;
    case 2:
      code.Add({0xf2, 0xc3});
      break;
    default:
      code.Add(0xc3);
  }
  return code;
}

Code InstructionEncoder::SystemCall() {
  Code code;
  code.Add({0x0f, static_cast<uint8_t>(wide_ ? 0x05 : 0x34)});
  return code;
}

Code InstructionEncoder::SoftInterrupt() {
  Code code;
  if (random_.Chance(300)) {
    code.Add(0xcc);
  } else {
    code.Add({0xcd, 0x80});
  }
  return code;
}

Code InstructionEncoder::SystemReturn() {
  Code code;
  if (wide_) code.Add(0x48);
  code.Add({0x0f, static_cast<uint8_t>(wide_ ? 0x07 : 0x35)});
  return code;
}

Code InstructionEncoder::InterruptReturn() {
  Code code;
  if (wide_) code.Add(0x48);
  code.Add(0xcf);
  return code;
}

Code InstructionEncoder::MovCr3() {
  Code code;
  code.Add({0x0f, 0x22, static_cast<uint8_t>(0xd8 | AnyReg())});
  return code;
}

Code InstructionEncoder::FarJump() {
  Code code;
  if (!wide_ && random_.Chance(500)) {
    code.Add(0xea);
    code.AddValue(random_.Next(), 6);
  } else {
    code.Add(0xff);
    AddModRm(code, 5, true);
  }
  return code;
}

Code InstructionEncoder::TransactionEnd() {
  Code code;
  code.Add({0x0f, 0x01, 0xd5});
  return code;
}

Code InstructionEncoder::TransactionAbort() {
  Code code;
  code.Add({0xc6, 0xf8, static_cast<uint8_t>(random_.Below(256))});
  return code;
}

Code InstructionEncoder::Pop() {
  Code code;
  code.Add(static_cast<uint8_t>(0x58 | AnyReg()));
  return code;
}

}  // namespace flowback::testing
