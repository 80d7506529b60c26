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

bool WaitsOnly(const WaitArguments& call) {
  constexpr uint64_t kSetMask = 14, kPause = 34, kNanosleep = 35, kFutex = 202,
                     kClockNanosleep = 230;
  constexpr uint64_t kFlags = 128 | 256;  // FUTEX_PRIVATE_FLAG, FUTEX_CLOCK_REALTIME
  // FUTEX_WAIT, _WAKE, _REQUEUE, _CMP_REQUEUE, _WAIT_BITSET, _WAKE_BITSET
  constexpr std::array<uint64_t, 6> kOperations = {0, 1, 3, 4, 9, 10};
  switch (call.number) {
    case kSetMask:  // the third: where the old mask goes to
      return call.third_is_null;
    case kPause:
      return true;
    case kNanosleep:  // the second: where the time that is left goes to
      return call.second_is_null;
    case kClockNanosleep:
      return call.fourth_is_null;
    case kFutex:
      return call.second &&
             std::ranges::find(kOperations, *call.second & ~kFlags) != kOperations.end();
    default:
      return false;
  }
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
