// SPDX-License-Identifier: MIT
// Which instructions are newer than the processor that QEMU imitates. Inline: the emulator's plugin
// asks, too.
#pragma once

#include <optional>

#include "decode/instruction/x86/prefixes.h"
#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"

namespace flowback {

// An extension of the x86 instruction set.
struct ProcessorExtension {
  const char* name;      // as manuals have it
  const char* cpu_flag;  // as /proc/cpuinfo has it
};

// Returns the extension that a 64-bit instruction belongs to, if QEMU 7.2's best processor (`-cpu
// max`) lacks it; else nothing. `code` has one instruction.
inline std::optional<ProcessorExtension> ExtensionBeyondQemu(Bytes code, CodeMode mode) {
  if (mode != CodeMode::kX86_64) return std::nullopt;
  const Bytes rest = x86::BehindPrefixes(code, true);
  if (rest.size() < 4) return std::nullopt;
  if (rest[0] == 0x62) return ProcessorExtension{"AVX-512", "avx512f"};  // EVEX
  const bool vex = rest[0] == 0xc4;
  const bool legacy38 = rest[0] == 0x0f && rest[1] == 0x38;
  const bool legacy3a = rest[0] == 0x0f && rest[1] == 0x3a;
  if (!vex && !legacy38 && !legacy3a) return std::nullopt;
  const unsigned map = vex ? rest[1] & 0x1f : (legacy38 ? 2 : 3);
  const uint8_t opcode = vex ? rest[3] : rest[2];
  const bool is_long = vex && (rest[2] & 4) != 0;  // vectors of 256 bits
  if (map == 2 && vex && (opcode == 0x49 || opcode == 0x4b || opcode == 0x5c || opcode == 0x5e))
    return ProcessorExtension{"AMX", "amx_tile"};
  if (map == 2 && vex && opcode >= 0x50 && opcode <= 0x53)
    return ProcessorExtension{"AVX-VNNI", "avx_vnni"};
  if (map == 2 && legacy38 && opcode >= 0xc8 && opcode <= 0xcd)
    return ProcessorExtension{"SHA", "sha_ni"};
  if (map == 3 && legacy3a && opcode == 0xcc) return ProcessorExtension{"SHA", "sha_ni"};
  if ((map == 2 && opcode == 0xcf) || (map == 3 && (opcode == 0xce || opcode == 0xcf)))
    return ProcessorExtension{"GFNI", "gfni"};
  if (map == 3 && is_long && opcode == 0x44) return ProcessorExtension{"VPCLMULQDQ", "vpclmulqdq"};
  return std::nullopt;
}

}  // namespace flowback
