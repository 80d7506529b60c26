// SPDX-License-Identifier: MIT
// Colours for people at a terminal.
#pragma once

#include <string>
#include <string_view>

namespace flowback::cli {

// Colours text by its lines: headings, behind an empty line, are bold, and lines that begin with
// '#', such as losses in listings, are yellow. Text comes in any pieces; a heading that is cut is
// left as it is.
class LineColors {
 public:
  std::string Colored(std::string_view text);

 private:
  bool at_line_begin_ = true;
  bool after_empty_line_ = false;
  bool in_comment_ = false;
};

// "flowback: " of a message, and the line with a remedy.
std::string ColoredMessage(std::string_view text);
std::string ColoredRemedy(std::string_view text);

}  // namespace flowback::cli
