// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cstring>

#include "base/hex.h"
#include "cli/crash/crash_text.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

std::string ArgumentWords(const CrashCallArgument& argument) {
  if (!argument.text.empty())
    return "\"" + Printable(argument.text) + (argument.is_whole ? "\"" : "\"...");
  if (!argument.value) return "?";
  switch (argument.kind) {
    case 'd':
      return fmt::format("{}", static_cast<int32_t>(*argument.value));
    case 'n':
      return fmt::format("{}", static_cast<int64_t>(*argument.value));
    default:
      return Hex(*argument.value);
  }
}

std::string ResultWords(const CrashSystemCall& call) {
  constexpr int64_t kLastError = -4095;
  if (!call.has_returned) return " (did not return)";
  if (!call.result) return " = ?";
  const int64_t result = *call.result;
  const char* error =
      result < 0 && result >= kLastError ? strerrorname_np(static_cast<int>(-result)) : nullptr;
  if (error != nullptr) return fmt::format(" = -{}", error);
  constexpr int64_t kMostDecimal = 1 << 30;
  return result >= 0 && result <= kMostDecimal ? fmt::format(" = {}", result)
                                               : " = " + Hex(static_cast<uint64_t>(result));
}

}  // namespace

std::string CallWords(const CrashSystemCall& call) {
  if (call.name.empty()) return "a system call whose number is not proven" + ResultWords(call);
  std::string words = call.name;
  words += call.has_shape ? "(" : "(...";
  for (size_t i = 0; i < call.arguments.size(); ++i)
    words += (i == 0 ? "" : ", ") + ArgumentWords(call.arguments[i]);
  return words + ")" + ResultWords(call);
}

}  // namespace flowback::cli
