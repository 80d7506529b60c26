// SPDX-License-Identifier: MIT
// Where the recordings with known results are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace flowback::golden {

// $FLOWBACK_SHARED/traces, else ../shared/traces beside the checkout. May not exist.
std::filesystem::path TracesFolder();
bool HaveTraces();

// A file's lines, each split at white space, without those that begin with '#'. Empty when the file
// can't be read.
std::vector<std::vector<std::string>> ReadTable(const std::filesystem::path& file);

// GoogleTest names take letters, digits and underscores only.
std::string TestName(std::string text);

}  // namespace flowback::golden

// Ends a test visibly where the recordings are absent.
#define FLOWBACK_NEEDS_TRACES()                                                    \
  if (!flowback::golden::HaveTraces())                                             \
  GTEST_SKIP() << "no recordings in " << flowback::golden::TracesFolder().string() \
               << "; set FLOWBACK_SHARED to the folder that holds traces/"
