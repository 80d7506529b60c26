// SPDX-License-Identifier: MIT
// Exit statuses and error messages, the same for every subcommand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flowback/base/error.h"

namespace flowback::cli {

// The program's exit statuses; scripts rely on the numbers.
enum ExitStatus : int {
  kDone = 0,
  kFailed = 1,
  kWrongUsage = 2,
  kNoHardware = 3,
  kNoPermission = 4,
  kDeviceBusy = 5,
  kFinishedWithLosses = 6,  // under --strict
  kImageIsMissing = 7,      // under --strict
  kInputUnreadable = 8,
};

int StatusOf(ErrorCode code);

// Writes `flowback: [FILE: ]message (offset N)` and `  try: remedy` to stderr; returns StatusOf.
// `file` is left out when the message names it already or it is empty. Message and remedy are a
// line each, even if a name in them has newlines.
int Report(const Error& error, std::string_view file = {});

// One line on stderr, `flowback: text`, that does not end the work, and `  try: remedy` for each of
// the remedies that is not empty. With --quiet nothing.
void Warn(std::string_view text, const std::vector<std::string>& remedies = {});

}  // namespace flowback::cli
