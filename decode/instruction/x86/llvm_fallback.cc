// SPDX-License-Identifier: MIT
#include "decode/instruction/x86/llvm_fallback.h"

#include <algorithm>
#include <array>

#include "decode/instruction/llvm_disassembler.h"
#include "decode/instruction/x86/machine_modes.h"
#include "decode/instruction/x86/prefixes.h"

namespace flowback::x86 {
namespace {

constexpr LlvmTarget TargetOf(const char* triple) {
  return {.name = "X86", .triple = triple, .features = "", .second_syntax = true};
}

bool IsPrefixesOnly(Bytes bytes, CodeMode mode) {
  return std::all_of(bytes.begin(), bytes.end(), [&](uint8_t byte) {
    return IsLegacyPrefix(byte) || (mode == CodeMode::kX86_64 && IsRex(byte));
  });
}

}  // namespace

// Prefixes that LLVM can't join to an instruction, LOCK among them, are instructions of their own
// to it. They are put together again with what follows.
unsigned LlvmDisassemble(Bytes code, uint64_t address, CodeMode mode, std::string* text) {
  // Kept to the end of the process, as the library is.
  static auto& disassemblers = *new std::array<LlvmDisassembler, kModes>{
      LlvmDisassembler(TargetOf("x86_64-unknown-unknown")),
      LlvmDisassembler(TargetOf("i386-unknown-unknown")),
      LlvmDisassembler(TargetOf("i386-unknown-unknown-code16"))};
  std::string prefixes;
  for (unsigned skipped = 0; skipped < code.size();) {
    std::string part;
    const Bytes rest = code.subspan(skipped);
    const unsigned length = disassemblers[IndexOf(mode)].Run(rest, address + skipped, &part);
    if (length == 0) return 0;
    if (!IsPrefixesOnly(rest.first(length), mode)) {
      if (text != nullptr) *text = prefixes + part;
      return skipped + length;
    }
    prefixes += part + ' ';
    skipped += length;
  }
  return 0;
}

}  // namespace flowback::x86
