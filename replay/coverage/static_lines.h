// SPDX-License-Identifier: MIT
// The source lines of an object's code, all at once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "flowback/replay/object_image.h"
#include "flowback/replay/source_lines.h"
#include "flowback/replay/static_code.h"

namespace flowback {

// Code of one line, of one copy of it where its function was inlined.
struct StaticLine {
  uint64_t begin = 0;  // half-open
  uint64_t end = 0;
  uint32_t file = 0;  // number in StaticLines::files
  uint32_t line = 0;
  uint64_t scope = 0;  // as SourcePlace has it
  bool is_inlined = false;
  bool is_statement = true;  // by the line table
};

// Immutable.
class StaticLines {
 public:
  // Reads all debug information of the code, and no more. Without any there are no lines, which is
  // no error. `lines` may have been used before, and has the errors.
  static StaticLines Of(const ObjectImage& image, const StaticCode& code, SourceLines& lines);

  // Ranges with a known file and line, by address, without overlap, within the code's instructions.
  // Neighbours that differ in nothing are one.
  std::span<const StaticLine> lines() const { return lines_; }
  const std::vector<std::string>& files() const { return files_; }
  // Null: nothing is known of the line there.
  const StaticLine* At(uint64_t address) const;

 private:
  std::vector<StaticLine> lines_;
  std::vector<std::string> files_;
};

}  // namespace flowback
