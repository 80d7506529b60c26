// SPDX-License-Identifier: MIT
#include "cli/status.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/cut_files.h"
#include "cli/printable.h"

namespace flowback::cli {
namespace {

void Tell(std::string_view text, const std::vector<std::string>& remedies) {
  std::string lines = "flowback: " + PrintableProse(text) + '\n';
  for (const std::string& remedy : remedies)
    if (!remedy.empty()) lines += "  try: " + PrintableProse(remedy) + '\n';
  std::fputs(lines.c_str(), stderr);
}

}  // namespace

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

int Report(const Error& met, std::string_view file) {
  // What went wrong may come from zeros in the place of a file that was cut.
  const Status uncut = CheckNothingMet();
  const Error& error = uncut || met.code() == ErrorCode::kUnreadable ? met : uncut.error();
  std::string text;
  if (!file.empty() && !error.message().contains(file)) text += fmt::format("{}: ", file);
  text += error.message();
  if (error.offset()) text += fmt::format(" (offset {})", *error.offset());
  Tell(text, {error.remedy()});
  return StatusOf(error.code());
}

void Warn(std::string_view text, const std::vector<std::string>& remedies) { Tell(text, remedies); }

}  // namespace flowback::cli
