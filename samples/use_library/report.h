// SPDX-License-Identifier: MIT
// How these programs print what they have in common: losses and errors.
#pragma once

#include <cstdio>
#include <string>

#include "flowback/flowback.h"

// "no code image, 12 bytes at 345: REMEDY": the cause of a loss, its size and place, and what
// helps.
inline std::string TextOf(const flowback::DataLoss& loss) {
  return std::string(flowback::Name(loss.cause)) + ", " + std::to_string(loss.end - loss.begin) +
         " bytes at " + std::to_string(loss.begin) + ": " + flowback::Remedy(loss.cause);
}

// Prints why the program failed, and what helps. Returns the program's exit status.
inline int ExitStatus(const char* program, const flowback::Status& done) {
  if (done) return 0;
  std::fprintf(stderr, "%s: %s\n", program, done.error().message().c_str());
  if (!done.error().remedy().empty()) std::fprintf(stderr, "  %s\n", done.error().remedy().c_str());
  return done.error().code() == flowback::ErrorCode::kUsage ? 2 : 1;
}
