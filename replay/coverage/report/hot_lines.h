// SPDX-License-Identifier: MIT
// Source lines by how many instructions they executed.
//
//   4,001 instructions of libz.so.1        deflate.c:1480   2,900   longest_match
//                                          deflate.c:1502   1,000   longest_match
//                                          no line            101   memcpy in libc.so.6
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/replay/coverage_counts.h"
#include "flowback/replay/object_image.h"
#include "flowback/replay/source_lines.h"
#include "flowback/replay/symbolizer.h"

namespace flowback {

// One line of a source file, all of its copies added up: inlined code counts for the line that it
// was written on. Code without a line is added up by function.
struct HotLine {
  std::string file;  // empty: no line is known
  uint32_t line = 0;
  std::string function;  // with most of the instructions; empty: no name is known
  std::string object;    // the file of code with most of the instructions, as recorded
  uint64_t instructions = 0;
};

struct HotLines {
  std::vector<HotLine> lines;         // most instructions first
  uint64_t instructions = 0;          // of all lines, and of functions without lines
  uint64_t without_line = 0;          // instructions of code whose line is not known
  uint64_t all = 0;                   // instructions of all code, chosen or not
  std::vector<std::string> problems;  // files of code that could not be read
};

struct HotLineSources {
  // Finds an object's file.
  std::function<Result<ObjectImage>(const ObjectId& object)> open;
  SourceLines& lines;
  Symbolizer& symbolizer;
  // Whether the code of this function counts: asked with the name of the function that contains the
  // code, and of the inlined function that the line belongs to. Empty: all code counts.
  std::function<bool(std::string_view name)> chooses{};
};

// Adds up the instructions of `counts` by line. The sum over the lines is exactly `instructions`.
HotLines FindHotLines(const CoverageCounts& counts, const HotLineSources& sources);

}  // namespace flowback
