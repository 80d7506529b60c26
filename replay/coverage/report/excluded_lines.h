// SPDX-License-Identifier: MIT
// The source lines that their author has marked as not to be counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "flowback/replay/coverage_report.h"
#include "replay/coverage/report/source_reader.h"

namespace flowback {

// Finds the marks that geninfo(1) and gcovr know: LCOV_EXCL_LINE in a line, LCOV_EXCL_START and
// LCOV_EXCL_STOP around lines, and the same with EXCL_BR, which excludes branches only. GCOV_ and
// GCOVR_ stand for LCOV_, too. A region without an end reaches to the end of the file. Keeps what
// it has read. Not thread-safe.
class ExcludedLines {
 public:
  // `source_root`: as SourceReader takes it.
  explicit ExcludedLines(std::string source_root) : sources_(std::move(source_root)) {}

  bool Line(const std::string& file, uint32_t line) { return Has(Of(file).lines, line); }
  bool Branches(const std::string& file, uint32_t line) { return Has(Of(file).branches, line); }

  // Makes `choice` leave them out. This object must outlive the choice.
  void LeaveOut(CoverageChoice& choice);

 private:
  struct Marks {
    std::vector<bool> lines;  // by line; empty: none is marked
    std::vector<bool> branches;
  };
  const Marks& Of(const std::string& file);
  static Marks Find(const std::vector<std::string>& lines);
  static bool Has(const std::vector<bool>& marked, uint32_t line) {
    return line < marked.size() && marked[line];
  }

  SourceReader sources_;
  std::unordered_map<std::string, Marks> files_;
  const std::string* last_file_ = nullptr;  // in files_: most questions are about one file
  const Marks* last_ = nullptr;
};

}  // namespace flowback
