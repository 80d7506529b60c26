// SPDX-License-Identifier: MIT
#include "cli/text/status.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "cli/reading/cut_files.h"
#include "cli/text/colored.h"
#include "cli/text/terminal_session.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

void Tell(std::string_view text, const std::vector<std::string>& remedies, bool is_error) {
  BeforeMessage();
  const bool color = is_error && HasColor(STDERR_FILENO);
  const std::string said = PrintableProse(text);
  std::string lines = (color ? ColoredMessage(said) : "flowback: " + said) + '\n';
  for (const std::string& remedy : remedies) {
    if (remedy.empty()) continue;
    const std::string line = "  try: " + PrintableProse(remedy);
    lines += (color ? ColoredRemedy(line) : line) + '\n';
  }
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
  Tell(text, {error.remedy()}, true);
  return StatusOf(error.code());
}

void Warn(std::string_view text, const std::vector<std::string>& remedies) {
  if (!IsQuiet()) Tell(text, remedies, false);
}

}  // namespace flowback::cli
