// SPDX-License-Identifier: MIT
#include "cli/status.h"

#include <fmt/format.h>

#include <cstdio>

namespace flowback::cli {

int StatusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return kWrongUsage;
    case ErrorCode::kUnreadable:
      return kInputUnreadable;
    case ErrorCode::kNoHardware:
      return kNoHardware;
    case ErrorCode::kPermission:
      return kNoPermission;
    case ErrorCode::kBusy:
      return kDeviceBusy;
    case ErrorCode::kImageMissing:
    case ErrorCode::kUnsupported:
    case ErrorCode::kSystem:
    case ErrorCode::kCommandMissing:
    case ErrorCode::kCommandRefused:
      return kFailed;
  }
  return kFailed;
}

int Report(const Error& error, std::string_view file) {
  std::string text = "flowback: ";
  if (!file.empty() && !error.message().contains(file)) text += fmt::format("{}: ", file);
  text += error.message();
  if (error.offset()) text += fmt::format(" (offset {})", *error.offset());
  text += '\n';
  if (!error.remedy().empty()) text += fmt::format("  try: {}\n", error.remedy());
  std::fputs(text.c_str(), stderr);
  return StatusOf(error.code());
}

void Warn(std::string_view text) {
  std::fputs(fmt::format("flowback: {}\n", text).c_str(), stderr);
}

}  // namespace flowback::cli
