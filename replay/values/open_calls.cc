// SPDX-License-Identifier: MIT
#include "replay/values/open_calls.h"

namespace flowback::values {

std::span<const uint8_t> KeptInCalls(CodeMode mode) {
  // RSP, RBX, RBP, R12 to R15; ESP, EBX, EBP, ESI, EDI; the stack pointer, X19 to X29.
  static constexpr std::array<uint8_t, 7> k64 = {4, 3, 5, 12, 13, 14, 15};
  static constexpr std::array<uint8_t, 5> k32 = {4, 3, 5, 6, 7};
  static constexpr std::array<uint8_t, 12> kArm = {31, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29};
  if (mode == CodeMode::kAArch64) return kArm;
  if (mode == CodeMode::kX86_32) return k32;
  return k64;
}

}  // namespace flowback::values
