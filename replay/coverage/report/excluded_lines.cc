// SPDX-License-Identifier: MIT
#include "replay/coverage/report/excluded_lines.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace flowback {
namespace {

// Whether the line has the mark, with whichever tool's name before it and no letter behind it.
bool HasMark(std::string_view line, std::string_view mark) {
  constexpr std::array<std::string_view, 3> kTools = {"LCOV_", "GCOV_", "GCOVR_"};
  for (size_t at = line.find(mark); at != std::string_view::npos; at = line.find(mark, at + 1)) {
    const std::string_view before = line.substr(0, at);
    const std::string_view behind = line.substr(at + mark.size());
    const bool goes_on = !behind.empty() &&
                         (std::isalnum(static_cast<unsigned char>(behind[0])) || behind[0] == '_');
    if (!goes_on &&
        std::ranges::any_of(kTools, [&](std::string_view tool) { return before.ends_with(tool); }))
      return true;
  }
  return false;
}

// By line from 1: those in a region, and those that are marked by themselves.
std::vector<bool> MarkedLines(const std::vector<std::string>& lines, const std::string& kind) {
  std::vector<bool> marked;
  bool inside = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    const bool may_have = line.find("EXCL_") != std::string_view::npos;
    const bool begins = may_have && HasMark(line, kind + "START");
    const bool ends = may_have && HasMark(line, kind + "STOP");
    if (begins) inside = true;
    if (inside || (may_have && HasMark(line, kind + "LINE"))) {
      if (marked.empty()) marked.resize(lines.size() + 1);
      marked[i + 1] = true;
    }
    if (ends) inside = false;
  }
  return marked;
}

}  // namespace

ExcludedLines::Marks ExcludedLines::Find(const std::vector<std::string>& lines) {
  return {MarkedLines(lines, "EXCL_"), MarkedLines(lines, "EXCL_BR_")};
}

const ExcludedLines::Marks& ExcludedLines::Of(const std::string& file) {
  if (last_file_ != nullptr && *last_file_ == file) return *last_;
  auto [found, is_new] = files_.try_emplace(file);
  if (is_new) found->second = Find(sources_.Lines(file));
  last_file_ = &found->first;
  last_ = &found->second;
  return *last_;
}

void ExcludedLines::LeaveOut(CoverageChoice& choice) {
  choice.excludes_line = [this](const std::string& file, uint32_t line) {
    return Line(file, line);
  };
  choice.excludes_branches = [this](const std::string& file, uint32_t line) {
    return Branches(file, line);
  };
}

}  // namespace flowback
