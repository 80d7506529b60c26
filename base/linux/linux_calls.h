// SPDX-License-Identifier: MIT
// Linux's system calls by their numbers, which depend on how a program was made for the kernel.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "base/linux/linux_abi.h"

namespace flowback {

enum class LinuxCall : uint8_t {
#define LINUX_CALL(id, ...) id,
#include "base/linux/linux_calls.def"
};

constexpr int64_t NumberOf(LinuxCall call, LinuxAbi abi) {
  constexpr int64_t kNumbers[][3] = {
#define LINUX_CALL(id, name, x86_64, i386, aarch64) {x86_64, i386, aarch64},
#include "base/linux/linux_calls.def"
  };
  return kNumbers[static_cast<size_t>(call)][static_cast<size_t>(abi)];
}

constexpr bool IsOneOf(int64_t number, LinuxAbi abi, std::initializer_list<LinuxCall> calls) {
  return std::ranges::any_of(calls, [&](LinuxCall call) { return NumberOf(call, abi) == number; });
}

// The number by the one table of the call that has `number` by the other. Empty: the call is not
// among those that are known here, or `to` has none such.
constexpr std::optional<int64_t> Renumbered(int64_t number, LinuxAbi from, LinuxAbi to) {
  // Calls that are younger than this have one number in all tables.
  constexpr int64_t kFirstSame = 424;
  if (number >= kFirstSame || from == to) return number;
  constexpr std::array kCalls = {
#define LINUX_CALL(id, ...) LinuxCall::id,
#include "base/linux/linux_calls.def"
  };
  for (const LinuxCall call : kCalls)
    if (NumberOf(call, from) == number)
      return NumberOf(call, to) < 0 ? std::nullopt : std::optional(NumberOf(call, to));
  return std::nullopt;
}

}  // namespace flowback
