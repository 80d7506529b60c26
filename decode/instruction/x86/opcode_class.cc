// SPDX-License-Identifier: MIT
// Which opcodes transfer control or bind packets, after the SDM's tables "COFI Type for Branch
// Instructions" and "Packet Generation under Different Enable Conditions".
//
// Instructions left out on purpose, because an event determines the flow:
//  * INTO. It transfers control only with OF set, and then a FUP with its own address comes first,
//    as with every software interrupt. Asking for a packet at each INTO would lose the flow at
//    the common one that does nothing.
//  * VMCALL, VMFUNC and other instructions that exit to a hypervisor: a VM exit is asynchronous,
//  with a FUP.
//  * XBEGIN, XEND, XABORT: MODE.TSX and, for an abort, a FUP with the target in a TIP.
//  * UD0, UD1, UD2 never complete; ENCLU's enclave transfers come with a FUP.
#include "decode/instruction/x86/opcode_class.h"

#include <array>
#include <cstddef>

namespace flowback::x86 {
namespace {

using enum InstructionClass;

struct Entry {
  InstructionClass kind = kOther;
  uint8_t flags = 0;
};
struct Row {
  uint8_t first;  // opcodes, both inclusive
  uint8_t last;
  Entry entry;
};
using Table = std::array<Entry, 256>;

template <size_t N>
constexpr Table MakeTable(const Row (&rows)[N]) {
  Table table{};
  for (const Row& row : rows)
    for (unsigned opcode = row.first; opcode <= row.last; ++opcode) table[opcode] = row.entry;
  return table;
}

// kFlagRep holds with a repeat prefix only.
constexpr Table kOneByte = MakeTable({
    {0x6c, 0x6f, {kOther, kFlagRep}},        // INS, OUTS
    {0x70, 0x7f, {kConditional}},            // Jcc
    {0x9a, 0x9a, {kFarCall}},                // CALL ptr16:32
    {0xa4, 0xa7, {kOther, kFlagRep}},        // MOVS, CMPS
    {0xaa, 0xaf, {kOther, kFlagRep}},        // STOS, LODS, SCAS
    {0xc2, 0xc3, {kReturn}},                 // RET
    {0xca, 0xcb, {kFarReturn}},              // far RET
    {0xcc, 0xcd, {kFarCall, kFlagSyscall}},  // INT3, INT n
    {0xcf, 0xcf, {kFarReturn}},              // IRET, IRETD, IRETQ
    {0xe0, 0xe3, {kConditional}},            // LOOPNE, LOOPE, LOOP, JrCXZ
    {0xe8, 0xe8, {kCall}},                   // CALL
    {0xe9, 0xe9, {kJump}},                   // JMP
    {0xea, 0xea, {kFarJump}},                // JMP ptr16:32
    {0xeb, 0xeb, {kJump}},                   // JMP, short
    {0xf1, 0xf1, {kFarCall, kFlagSyscall}},  // INT1
});

constexpr Table kTwoByte = MakeTable({
    {0x05, 0x05, {kFarCall, kFlagSyscall}},  // SYSCALL
    {0x07, 0x07, {kFarReturn}},              // SYSRET
    {0x34, 0x34, {kFarCall, kFlagSyscall}},  // SYSENTER
    {0x35, 0x35, {kFarReturn}},              // SYSEXIT
    {0x80, 0x8f, {kConditional}},            // Jcc
    {0xaa, 0xaa, {kFarReturn}},              // RSM
});

// FF /2 to /5.
Entry Group5(const OpcodeParts& parts) {
  constexpr std::array<Entry, 8> kEntries = {
      {{}, {}, {kIndirectCall}, {kFarCall}, {kIndirectJump}, {kFarJump}, {}, {}}};
  return kEntries[parts.reg()];
}

// 0F 01 with a register ModRM: one instruction per byte value and prefix.
Entry Group7(const OpcodeParts& parts) {
  const bool plain = parts.repeat == 0 && !parts.osz;
  switch (parts.modrm) {
    case 0xc2:  // VMLAUNCH
    case 0xc3:  // VMRESUME
      return plain ? Entry{kFarReturn, kFlagVmEntry} : Entry{};
    case 0xca:  // ERETS (F2), ERETU (F3); without either it is CLAC
      return parts.repeat != 0 && parts.mode64 ? Entry{kFarReturn} : Entry{};
    case 0xec:  // UIRET (F3)
      return parts.repeat == 0xf3 && parts.mode64 ? Entry{kFarReturn} : Entry{};
    default:
      return {};
  }
}

Entry OneByte(const OpcodeParts& parts) {
  if (parts.opcode == 0xff) return Group5(parts);
  Entry entry = kOneByte[parts.opcode];
  if (parts.repeat == 0) entry.flags &= static_cast<uint8_t>(~kFlagRep);
  return entry;
}

Entry TwoByte(const OpcodeParts& parts) {
  const bool plain = parts.repeat == 0 && !parts.osz;
  switch (parts.opcode) {
    case 0x01:
      return Group7(parts);
    case 0x22:  // MOV to control register; REX.R would make it another one than CR3
      return parts.reg() == 3 && !parts.rex_r ? Entry{kOther, kFlagMovCr3} : Entry{};
    case 0xae:  // PTWRITE (F3 /4)
      return parts.reg() == 4 && parts.repeat == 0xf3 && !parts.osz ? Entry{kOther, kFlagPtwrite}
                                                                    : Entry{};
    case 0xc7:  // VMPTRLD (/6 with a memory operand)
      return parts.reg() == 6 && parts.mod() != 3 && plain ? Entry{kOther, kFlagVmPtrld} : Entry{};
    default:
      return kTwoByte[parts.opcode];
  }
}

}  // namespace

void SetClass(const OpcodeParts& parts, Instruction& out) {
  const Entry entry = parts.map == 0 ? OneByte(parts) : TwoByte(parts);
  out.kind = entry.kind;
  out.flags = entry.flags;
}

}  // namespace flowback::x86
