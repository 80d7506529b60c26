// SPDX-License-Identifier: MIT
#include "base/linux/linux_call_names.h"

#include <array>

namespace flowback {
namespace {

constexpr size_t kMostNumber = 511;
using CallNames = std::array<std::string_view, kMostNumber + 1>;

constexpr CallNames kNames64 = [] {
  CallNames names;
#define LINUX_CALL_NAME(name, x86_64, i386) names[x86_64] = #name;
#define LINUX_CALL_NAME_64(name, number) names[number] = #name;
#define LINUX_CALL_NAME_32(name, number)
#include "base/linux/linux_call_names.def"
  return names;
}();

constexpr CallNames kNames32 = [] {
  CallNames names;
#define LINUX_CALL_NAME(name, x86_64, i386) names[i386] = #name;
#define LINUX_CALL_NAME_64(name, number)
#define LINUX_CALL_NAME_32(name, number) names[number] = #name;
#include "base/linux/linux_call_names.def"
  return names;
}();

constexpr CallNames kNamesAArch64 = [] {
  CallNames names;
#define LINUX_CALL_NAME(name, number) names[number] = #name;
#include "base/linux/linux_call_names_aarch64.def"
  return names;
}();

}  // namespace

std::string_view LinuxCallName(uint32_t number, LinuxAbi abi) {
  if (number > kMostNumber) return {};
  switch (abi) {
    case LinuxAbi::kX86_64:
      return kNames64[number];
    case LinuxAbi::kI386:
      return kNames32[number];
    case LinuxAbi::kAArch64:
      return kNamesAArch64[number];
  }
  return {};
}

}  // namespace flowback
