// SPDX-License-Identifier: MIT
#include "replay/coverage/padding.h"

#include <algorithm>
#include <string_view>

#include "decode/instruction/classify.h"

namespace flowback {
namespace {

constexpr uint8_t kInt3 = 0xcc;
constexpr uint8_t kLea = 0x8d;
constexpr uint8_t kMove = 0x89;

// LEA 0(%esi),%esi or 0(%edi),%edi with a displacement of any size, and MOV %esi,%esi.
bool IsFillerOf32Bits(Bytes code) {
  const uint8_t modrm = code[1];
  const unsigned reg = (modrm >> 3) & 7;
  if (code[0] == kMove) return modrm == 0xf6 || modrm == 0xff;
  if (code[0] != kLea || (reg != 6 && reg != 7) || modrm >> 6 == 3) return false;
  const bool has_sib = (modrm & 7) == 4;
  if (code.size() < 3) return false;
  const bool same = has_sib ? (code[2] & 0x3f) == (0x20 | reg) : (modrm & 7) == reg;
  return same &&
         std::ranges::all_of(code.subspan(has_sib ? 3 : 2), [](uint8_t b) { return b == 0; });
}

// NOP, and UDF #0, which is zeros.
size_t PaddingWord(Bytes code) {
  constexpr size_t kWord = 4;
  constexpr uint8_t kNop[kWord] = {0x1f, 0x20, 0x03, 0xd5};
  if (code.size() < kWord) return 0;
  const Bytes word = code.first(kWord);
  const bool is_zero = std::ranges::all_of(word, [](uint8_t byte) { return byte == 0; });
  return is_zero || std::ranges::equal(word, kNop) ? kWord : 0;
}

}  // namespace

size_t PaddingInstruction(Bytes code, CodeMode mode) {
  if (mode == CodeMode::kAArch64) return PaddingWord(code);
  constexpr std::string_view kPrefixes = "\x26\x2e\x36\x3e\x64\x65\x66";
  if (code.empty()) return 0;
  if (code[0] == kInt3) return 1;
  size_t at = 0;
  while (at < code.size() && kPrefixes.contains(static_cast<char>(code[at]))) ++at;
  if (mode == CodeMode::kX86_64 && at < code.size() && (code[at] & 0xf0) == 0x40) ++at;
  const Bytes opcode = code.subspan(at);
  if (opcode.size() < 2) return opcode.size() == 1 && opcode[0] == 0x90 ? at + 1 : 0;
  const bool may_be = opcode[0] == 0x90 || (opcode[0] == 0x0f && opcode[1] == 0x1f) ||
                      (mode == CodeMode::kX86_32 && (opcode[0] == kLea || opcode[0] == kMove));
  Instruction instruction;
  if (!may_be || !Classify(code, mode, instruction)) return 0;
  if (opcode[0] != 0x90 && opcode[0] != 0x0f &&
      !IsFillerOf32Bits(opcode.first(instruction.length - at)))
    return 0;
  return instruction.length;
}

size_t PaddingLength(Bytes code, CodeMode mode) {
  size_t at = 0;
  while (const size_t size = PaddingInstruction(code.subspan(at), mode)) at += size;
  const Bytes rest = code.subspan(at);
  const bool all_zero = std::ranges::all_of(rest, [](uint8_t byte) { return byte == 0; });
  return all_zero ? code.size() : at;
}

}  // namespace flowback
