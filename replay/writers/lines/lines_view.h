// SPDX-License-Identifier: MIT
// Hot source lines and how they are to be shown.
#pragma once

#include <cstddef>
#include <string>

#include "flowback/replay/source_lines.h"
#include "replay/coverage/report/hot_lines.h"

namespace flowback {

struct LinesView {
  const HotLines& lines;
  SourceLines& source;  // for the lines' text
  std::string input;    // as the user named it
  bool emulated = false;
  bool samples = false;  // the recording holds samples only
  std::string function;  // the pattern that chose functions; empty: all
  size_t rows = 20;
  size_t width = 120;  // columns
};

}  // namespace flowback
