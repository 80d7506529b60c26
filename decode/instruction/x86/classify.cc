// SPDX-License-Identifier: MIT
// What common_form.cc does not know goes to Zydis, which in its minimal mode finds the length and
// the opcode (about ten times faster than a full decode); the table in opcode_class.cc gives the
// class. What Zydis 4.0 does not know goes to LLVM's disassembler for the length, and the opcode is
// read here: the prefixes REX and REX2 before a legacy opcode are all that a branch newer than
// Zydis can have.
//
// Targets of direct branches. A 16-bit operand size cuts the new instruction pointer to 16 bits, a
// 32-bit one to 32. In 64-bit mode Intel's processors ignore the prefix 66 there (AMD's do not). In
// 16-bit mode the trace's addresses usually contain the base of CS, which the trace does not
// contain, so the target is wrapped inside the 64 KiB of the branch itself: exact for bases that
// are multiples of 64 KiB, among them 0, and wrong elsewhere only for a branch that wraps.
#include "decode/instruction/x86/classify.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <array>

#include "decode/instruction/x86/llvm_fallback.h"
#include "decode/instruction/x86/machine_modes.h"
#include "decode/instruction/x86/opcode_class.h"
#include "decode/instruction/x86/prefixes.h"

namespace flowback::x86 {
namespace {

constexpr uint64_t kMask16 = 0xffff;
constexpr uint64_t kMask32 = 0xffffffff;

ZydisDecoder MakeDecoder(const MachineMode& machine) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, machine.mode, machine.width);
  ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
  return decoder;
}

const ZydisDecoder& DecoderFor(CodeMode mode) {
  static const std::array<ZydisDecoder, kModes> decoders = {
      MakeDecoder(kMachineModes[0]), MakeDecoder(kMachineModes[1]), MakeDecoder(kMachineModes[2])};
  return decoders[IndexOf(mode)];
}

void AddPrefix(uint8_t byte, OpcodeParts& parts) {
  if (byte == kOperandSizePrefix) parts.osz = true;
  if (byte == 0xf2 || byte == 0xf3) parts.repeat = byte;
}

void SetTarget(int64_t displacement, unsigned operand_width, CodeMode mode, Instruction& out) {
  out.displacement = displacement;
  if (mode == CodeMode::kX86_64) return;
  out.target_mask = operand_width == 16 ? kMask16 : kMask32;
  if (mode == CodeMode::kX86_16 && operand_width == 16) out.kept_address_bits = ~kMask16;
}

void FromZydis(const ZydisDecodedInstruction& decoded, CodeMode mode, Instruction& out) {
  out.length = decoded.length;
  if (decoded.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY) return;
  OpcodeParts parts;
  if (decoded.opcode_map == ZYDIS_OPCODE_MAP_0F)
    parts.map = 1;
  else if (decoded.opcode_map != ZYDIS_OPCODE_MAP_DEFAULT)
    return;
  parts.opcode = decoded.opcode;
  parts.modrm = static_cast<uint8_t>(decoded.raw.modrm.mod << 6 | decoded.raw.modrm.reg << 3 |
                                     decoded.raw.modrm.rm);
  parts.rex_r = decoded.raw.rex.R != 0;
  parts.mode64 = mode == CodeMode::kX86_64;
  for (unsigned i = 0; i < decoded.raw.prefix_count; ++i)
    AddPrefix(decoded.raw.prefixes[i].value, parts);
  SetClass(parts, out);
  if (!IsDirect(out.kind)) return;
  SetTarget(decoded.raw.imm[0].value.s, decoded.operand_width, mode, out);
  if (out.kind == InstructionClass::kCall && out.displacement == 0) out.flags |= kFlagZeroCall;
}

// Rows that a REX2 prefix may not extend: the branches with a displacement are among them, and
// MOV with a far address (A0-A3), whose A1 is the new JMPABS.
bool IsReservedUnderRex2(const OpcodeParts& parts) {
  const uint8_t row = parts.opcode & 0xf0;
  if (parts.map == 1) return row == 0x30 || row == 0x80;
  return row == 0x40 || row == 0x70 || row == 0xa0 || row == 0xe0;
}

// The opcode behind the prefixes of a 64-bit instruction, as far as it is a legacy one.
// False: a VEX, EVEX or similar encoding, which never transfers control.
bool ReadOpcode(Bytes code, OpcodeParts& parts, bool& rex2) {
  size_t at = 0;
  while (at < code.size() && IsLegacyPrefix(code[at])) AddPrefix(code[at++], parts);
  if (at + 2 < code.size() && code[at] == 0xd5) {
    rex2 = true;
    parts.map = code[at + 1] >> 7;
    parts.rex_r = (code[at + 1] & 0x44) != 0;
    at += 2;
  } else {
    if (at < code.size() && IsRex(code[at])) parts.rex_r = (code[at++] & 4) != 0;
    if (at < code.size() && code[at] == 0x0f) {
      parts.map = 1;
      ++at;
    }
  }
  if (at >= code.size()) return false;
  parts.opcode = code[at++];
  if (parts.map == 0 && (parts.opcode == 0x62 || parts.opcode == 0xc4 || parts.opcode == 0xc5))
    return false;
  if (at < code.size()) parts.modrm = code[at];
  return true;
}

bool FromLlvm(Bytes code, CodeMode mode, Instruction& out) {
  const unsigned length = LlvmDisassemble(code, 0, mode);
  if (length == 0 || length > code.size()) return false;
  out.length = static_cast<uint8_t>(length);
  // Outside 64-bit mode, no branch is newer than Zydis.
  if (mode != CodeMode::kX86_64) return true;
  OpcodeParts parts{.mode64 = true};
  bool rex2 = false;
  if (!ReadOpcode(code.first(length), parts, rex2)) return true;
  if (rex2 && parts.map == 0 && parts.opcode == 0xa1) {
    out.kind = InstructionClass::kIndirectJump;  // JMPABS: its address is absolute, yet a TIP comes
    return true;
  }
  if (rex2 && IsReservedUnderRex2(parts)) return false;
  SetClass(parts, out);
  return !IsDirect(out.kind);
}

// Zydis knows the instruction and that it always faults, or the bytes end in it.
bool IsFinal(ZyanStatus status) {
  return status == ZYDIS_STATUS_NO_MORE_DATA || status == ZYDIS_STATUS_INSTRUCTION_TOO_LONG ||
         status == ZYDIS_STATUS_ILLEGAL_LOCK;
}

}  // namespace

uint64_t ClassifierLibraryVersion() { return ZydisGetVersion(); }

bool ClassifyAnyForm(Bytes code, CodeMode mode, Instruction& out, bool* needed_llvm) {
  if (needed_llvm != nullptr) *needed_llvm = false;
  code = code.first(std::min<size_t>(code.size(), TraitsOf(mode).longest_instruction));
  out = {};
  if (code.empty()) return false;
  ZydisDecodedInstruction decoded;
  const ZyanStatus status =
      ZydisDecoderDecodeInstruction(&DecoderFor(mode), nullptr, code.data(), code.size(), &decoded);
  if (ZYAN_SUCCESS(status)) {
    FromZydis(decoded, mode, out);
    return true;
  }
  if (IsFinal(status)) return false;
  if (needed_llvm != nullptr) *needed_llvm = true;
  return FromLlvm(code, mode, out);
}

}  // namespace flowback::x86
