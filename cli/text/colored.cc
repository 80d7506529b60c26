// SPDX-License-Identifier: MIT
#include "cli/text/colored.h"

#include <algorithm>

namespace flowback::cli {
namespace {

constexpr std::string_view kPlain = "\033[0m";
constexpr std::string_view kBold = "\033[1m";
constexpr std::string_view kYellow = "\033[33m";
constexpr std::string_view kRed = "\033[1;31m";
constexpr std::string_view kGreen = "\033[32m";

std::string In(std::string_view color, std::string_view text) {
  return std::string(color) + std::string(text) + std::string(kPlain);
}

// A short line behind an empty one, and no sentence.
bool IsHeading(std::string_view line) {
  constexpr size_t kLongest = 40;
  return !line.empty() && line.size() <= kLongest && line.front() != ' ' && !line.ends_with('.');
}

}  // namespace

std::string LineColors::Colored(std::string_view text) {
  std::string colored;
  colored.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const bool whole = end != std::string_view::npos;
    const std::string_view line = text.substr(0, end);
    // "#0" is a frame of a stack.
    if (at_line_begin_) in_comment_ = line == "#" || line.starts_with("# ");
    if (in_comment_ && !line.empty())
      colored += In(kYellow, line);
    else if (after_empty_line_ && whole && IsHeading(line))
      colored += In(kBold, line);
    else
      colored += line;
    if (whole) colored += '\n';
    after_empty_line_ = whole && at_line_begin_ && line.empty();
    at_line_begin_ = whole;
    text.remove_prefix(whole ? end + 1 : text.size());
  }
  return colored;
}

std::string ColoredMessage(std::string_view text) {
  return In(kRed, "flowback:") + " " + std::string(text);
}

std::string ColoredRemedy(std::string_view text) { return In(kGreen, text); }

}  // namespace flowback::cli
