// SPDX-License-Identifier: MIT
// Nearly all instructions of compiled code have few forms: a prefix or none, REX or none, an
// opcode of the first two maps, ModRM, an immediate. A table of those costs a twentieth of a full
// decode.
//
// A row is here only if every encoding it admits is an instruction of exactly this length and class
// for Zydis too, whatever its ModRM; tests/instruction/common_form_test.cc goes through all of
// them. So a row may be missing without harm, but none may be wrong. Left out are, besides rare
// opcodes, those that some ModRM makes undefined, that bind packets, and branches with prefixes.
#include "decode/instruction/x86/common_form.h"

#include <array>
#include <cstddef>
#include <cstring>

#include "decode/instruction/x86/opcode_class.h"
#include "decode/instruction/x86/prefixes.h"

namespace flowback::x86 {
namespace {

enum Part : uint8_t {
  kModrm = 1 << 0,
  kImm8 = 1 << 1,
  kImmZ = 1 << 2,      // 4 bytes, 2 with prefix 66
  kTransfer = 1 << 3,  // the class is another one than kOther; the immediate is a displacement
  kMemory = 1 << 4,    // ModRM must name memory
  kTestImm = 1 << 5,   // /0 has an immediate: of a byte in the even opcode, kImmZ in the odd one
  kImmQ = 1 << 6,      // as kImmZ, but 8 bytes with REX.W
};
// The prefixes that may stand before an opcode, as a set.
enum Prefix : uint8_t { kNone = 1 << 0, k66 = 1 << 1, kF3 = 1 << 2, kF2 = 1 << 3 };
constexpr uint8_t kBoth = kNone | k66;
constexpr uint8_t kAll = kBoth | kF3 | kF2;

struct Form {
  uint8_t parts = 0;
  uint8_t prefixes = 0;  // empty: no common form
  uint8_t regs = 0xff;   // the values of ModRM's middle field that may be, as a set
};
struct FormRow {
  uint8_t first;  // opcodes, both inclusive
  uint8_t last;
  Form form;
};
using FormTable = std::array<Form, 256>;

template <size_t N>
constexpr void Fill(FormTable& table, const FormRow (&rows)[N]) {
  for (const FormRow& row : rows)
    for (unsigned opcode = row.first; opcode <= row.last; ++opcode) table[opcode] = row.form;
}

constexpr FormTable kOneByteForms = [] {
  FormTable table{};
  for (unsigned row = 0; row < 0x40; row += 8) {  // ADD, OR, ADC, SBB, AND, SUB, XOR, CMP
    for (unsigned i = 0; i < 4; ++i) table[row + i] = {kModrm, kBoth};
    table[row + 4] = {kImm8, kBoth};
    table[row + 5] = {kImmZ, kBoth};
  }
  Fill(table, {
                  {0x50, 0x5f, {0, kNone}},                  // PUSH, POP
                  {0x63, 0x63, {kModrm, kNone}},             // MOVSXD
                  {0x68, 0x68, {kImmZ, kNone}},              // PUSH
                  {0x69, 0x69, {kModrm | kImmZ, kBoth}},     // IMUL
                  {0x6a, 0x6a, {kImm8, kNone}},              // PUSH
                  {0x6b, 0x6b, {kModrm | kImm8, kBoth}},     // IMUL
                  {0x70, 0x7f, {kTransfer | kImm8, kNone}},  // Jcc
                  {0x80, 0x80, {kModrm | kImm8, kBoth}},
                  {0x81, 0x81, {kModrm | kImmZ, kBoth}},
                  {0x83, 0x83, {kModrm | kImm8, kBoth}},
                  {0x84, 0x8b, {kModrm, kBoth}},            // TEST, XCHG, MOV
                  {0x8d, 0x8d, {kModrm | kMemory, kBoth}},  // LEA
                  {0x90, 0x99, {0, kBoth}},                 // XCHG, CWDE, CDQ
                  {0xa8, 0xa8, {kImm8, kBoth}},             // TEST
                  {0xa9, 0xa9, {kImmZ, kBoth}},
                  {0xb0, 0xb7, {kImm8, kBoth}},  // MOV
                  {0xb8, 0xbf, {kImmQ, kBoth}},
                  {0xc0, 0xc1, {kModrm | kImm8, kBoth, 0xbf}},  // shifts
                  {0xc3, 0xc3, {kTransfer, kNone}},             // RET
                  {0xc6, 0xc6, {kModrm | kImm8, kBoth, 0x01}},  // MOV
                  {0xc7, 0xc7, {kModrm | kImmZ, kBoth, 0x01}},
                  {0xc9, 0xc9, {0, kNone}},                         // LEAVE
                  {0xd0, 0xd3, {kModrm, kBoth, 0xbf}},              // shifts
                  {0xe8, 0xe9, {kTransfer | kImmZ, kNone}},         // CALL, JMP
                  {0xeb, 0xeb, {kTransfer | kImm8, kNone}},         // JMP
                  {0xf6, 0xf7, {kModrm | kTestImm, kBoth, 0xfd}},   // TEST, NOT, NEG, MUL, DIV
                  {0xfe, 0xfe, {kModrm, kBoth, 0x03}},              // INC, DEC
                  {0xff, 0xff, {kTransfer | kModrm, kNone, 0x57}},  // INC, DEC, CALL, JMP, PUSH
              });
  return table;
}();

constexpr FormTable kTwoByteForms = [] {
  FormTable table{};
  Fill(table, {
                  {0x10, 0x11, {kModrm, kAll}},   // MOVUPS and related moves
                  {0x14, 0x15, {kModrm, kBoth}},  // UNPCK
                  {0x1f, 0x1f, {kModrm, kBoth}},  // NOP
                  {0x28, 0x29, {kModrm, kBoth}},  // MOVAPS
                  {0x2a, 0x2a, {kModrm, kAll}},   // CVT
                  {0x2c, 0x2d, {kModrm, kAll}},
                  {0x2e, 0x2f, {kModrm, kBoth}},  // UCOMIS, COMIS
                  {0x40, 0x4f, {kModrm, kBoth}},  // CMOVcc
                  {0x51, 0x51, {kModrm, kAll}},   // SQRT
                  {0x54, 0x57, {kModrm, kBoth}},  // AND to XOR of floating point
                  {0x58, 0x5a, {kModrm, kAll}},   // ADD, MUL, CVT
                  {0x5b, 0x5b, {kModrm, kBoth | kF3}},
                  {0x5c, 0x5f, {kModrm, kAll}},   // SUB, MIN, DIV, MAX
                  {0x60, 0x6b, {kModrm, kBoth}},  // integers in MMX and XMM registers
                  {0x6c, 0x6d, {kModrm, k66}},
                  {0x6e, 0x6e, {kModrm, kBoth}},
                  {0x6f, 0x6f, {kModrm, kBoth | kF3}},
                  {0x70, 0x70, {kModrm | kImm8, kAll}},      // PSHUF
                  {0x74, 0x76, {kModrm, kBoth}},             // PCMPEQ
                  {0x7e, 0x7f, {kModrm, kBoth | kF3}},       // MOVD, MOVQ, MOVDQA
                  {0x80, 0x8f, {kTransfer | kImmZ, kNone}},  // Jcc
                  {0x90, 0x9f, {kModrm, kBoth}},             // SETcc
                  {0xa2, 0xa2, {0, kNone}},                  // CPUID
                  {0xa3, 0xa3, {kModrm, kBoth}},             // BT
                  {0xa4, 0xa4, {kModrm | kImm8, kBoth}},     // SHLD
                  {0xa5, 0xa5, {kModrm, kBoth}},
                  {0xab, 0xab, {kModrm, kBoth}},          // BTS
                  {0xac, 0xac, {kModrm | kImm8, kBoth}},  // SHRD
                  {0xad, 0xad, {kModrm, kBoth}},
                  {0xaf, 0xaf, {kModrm, kBoth}},                // IMUL
                  {0xb0, 0xb1, {kModrm, kBoth}},                // CMPXCHG
                  {0xb3, 0xb3, {kModrm, kBoth}},                // BTR
                  {0xb6, 0xb7, {kModrm, kBoth}},                // MOVZX
                  {0xba, 0xba, {kModrm | kImm8, kBoth, 0xf0}},  // BT, BTS, BTR, BTC
                  {0xbb, 0xbb, {kModrm, kBoth}},                // BTC
                  {0xbc, 0xbd, {kModrm, kBoth | kF3}},          // BSF, BSR, TZCNT, LZCNT
                  {0xbe, 0xbf, {kModrm, kBoth}},                // MOVSX
                  {0xc0, 0xc1, {kModrm, kBoth}},                // XADD
                  {0xc2, 0xc2, {kModrm | kImm8, kAll}},         // CMPPS
                  {0xc6, 0xc6, {kModrm | kImm8, kBoth}},        // SHUFPS
                  {0xc8, 0xcf, {0, kNone}},                     // BSWAP
                  {0xd4, 0xd5, {kModrm, kBoth}},                // integers in registers
                  {0xd6, 0xd6, {kModrm, k66}},                  // MOVQ
                  {0xd8, 0xe5, {kModrm, kBoth}},
                  {0xe8, 0xef, {kModrm, kBoth}},
                  {0xf1, 0xf6, {kModrm, kBoth}},
                  {0xf8, 0xfe, {kModrm, kBoth}},
              });
  return table;
}();

// The bytes before the opcode.
struct Head {
  size_t size = 0;
  uint8_t prefix = kNone;
  uint8_t rex = 0;
  bool segment = false;
};

// False: more of them than is common, or F2 or F3 among others: it depends on the opcode which one
// counts then.
bool ReadHead(const uint8_t* code, Head& head) {
  constexpr size_t kMostPrefixes = 3;
  for (;; ++head.size) {
    const uint8_t byte = code[head.size];
    const bool repeat = byte == 0xf2 || byte == 0xf3;
    if (!repeat && byte != kOperandSizePrefix && byte != 0x2e && byte != 0x64) break;
    if (head.size == kMostPrefixes || head.prefix >= kF3 || (repeat && head.size != 0))
      return false;
    if (repeat)
      head.prefix = byte == 0xf3 ? kF3 : kF2;
    else if (byte == kOperandSizePrefix)
      head.prefix = k66;
    else
      head.segment = true;
  }
  if (IsRex(code[head.size])) head.rex = code[head.size++];
  return true;
}

// ModRM, SIB and displacement.
size_t AddressSize(const uint8_t* modrm) {
  const unsigned mod = *modrm >> 6;
  const unsigned rm = *modrm & 7;
  if (mod == 3) return 1;
  const size_t size = rm == 4 ? 2 : 1;
  if (mod == 1) return size + 1;
  const bool no_base = rm == 5 || (rm == 4 && (modrm[1] & 7) == 5);
  return mod == 2 || no_base ? size + 4 : size;
}

size_t ImmediateSize(uint8_t parts, const Head& head) {
  const bool wide = (head.rex & 8) != 0;
  const size_t z = head.prefix == k66 && !wide ? 2 : 4;
  if ((parts & kImmQ) != 0) return wide ? 8 : z;
  return ((parts & kImm8) != 0 ? 1 : 0) + ((parts & kImmZ) != 0 ? z : 0);
}

void SetTransfer(OpcodeParts parts, const uint8_t* displacement, size_t size, Instruction& out) {
  parts.mode64 = true;
  SetClass(parts, out);
  if (!IsDirect(out.kind)) return;
  int32_t wide;
  std::memcpy(&wide, displacement, sizeof wide);
  out.displacement = size == 1 ? static_cast<int8_t>(*displacement) : wide;
  if (out.kind == InstructionClass::kCall && out.displacement == 0) out.flags |= kFlagZeroCall;
}

}  // namespace

bool ClassifyCommonForm(Bytes code, Instruction& out) {
  if (code.size() < TraitsOf(CodeMode::kX86_64).longest_instruction) return false;
  Head head;
  if (!ReadHead(code.data(), head)) return false;
  const uint8_t* at = code.data() + head.size;
  OpcodeParts opcode;
  opcode.map = *at == 0x0f ? 1 : 0;
  at += opcode.map;
  opcode.opcode = *at++;
  const Form& form = (opcode.map == 0 ? kOneByteForms : kTwoByteForms)[opcode.opcode];
  if ((form.prefixes & head.prefix) == 0) return false;
  uint8_t parts = form.parts;
  if ((parts & kTransfer) != 0 && head.segment) return false;
  if ((parts & kModrm) != 0) {
    opcode.modrm = *at;
    if ((form.regs >> opcode.reg() & 1) == 0) return false;
    if ((parts & kMemory) != 0 && opcode.mod() == 3) return false;
    if ((parts & kTestImm) != 0 && opcode.reg() == 0)
      parts |= static_cast<uint8_t>((opcode.opcode & 1) != 0 ? uint8_t{kImmZ} : uint8_t{kImm8});
    at += AddressSize(at);
  }
  out = {};
  const size_t immediate = ImmediateSize(parts, head);
  if ((parts & kTransfer) != 0) SetTransfer(opcode, at, immediate, out);
  out.length = static_cast<uint8_t>(at - code.data() + static_cast<ptrdiff_t>(immediate));
  return true;
}

}  // namespace flowback::x86
