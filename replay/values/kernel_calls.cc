// SPDX-License-Identifier: MIT
#include "replay/values/kernel_calls.h"

#include <algorithm>
#include <array>

namespace flowback::values {
namespace {

struct HarmlessCall {
  uint64_t x86_64;
  uint64_t x86_32;
  uint64_t aarch64;

  uint64_t In(CodeMode mode) const {
    if (mode == CodeMode::kAArch64) return aarch64;
    return mode == CodeMode::kX86_32 ? x86_32 : x86_64;
  }
};

// No system call of the machine.
constexpr uint64_t kNone = ~uint64_t{0};

constexpr std::array kHarmless = {
#define FLOWBACK_HARMLESS_CALL(name, x86_64, x86_32, aarch64) HarmlessCall{x86_64, x86_32, aarch64},
#include "replay/values/harmless_calls.def"
};

}  // namespace

bool IsHarmlessCall(uint64_t number, CodeMode mode) {
  return std::ranges::any_of(kHarmless,
                             [&](const HarmlessCall& call) { return call.In(mode) == number; });
}

bool MaySetBases(uint64_t number, CodeMode mode) {
  switch (mode) {
    case CodeMode::kX86_64:
      return number == 158;  // arch_prctl
    case CodeMode::kAArch64:
      return false;
    default:
      // modify_ldt, set_thread_area, arch_prctl
      return number == 123 || number == 243 || number == 384;
  }
}

}  // namespace flowback::values
