// SPDX-License-Identifier: MIT
// Coverage by source file: adds up the coverage of one file in several objects.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flowback/replay/coverage_report.h"

namespace flowback {

// A conditional branch of a line. If several objects have the same number of branches in the line,
// they contain the same code, as programs that link a library do. Then their counts are added up.
struct CoveredBranch {
  uint64_t taken = 0;
  uint64_t not_taken = 0;
};

// One of several copies of a line, in any object.
struct CoveredCopy {
  std::string function;  // whose code contains the copy
  uint64_t times = 0;
  Executed state = Executed::kNo;
};

struct CoveredLine {
  uint32_t line = 0;
  uint64_t times = 0;
  Executed state = Executed::kNo;
  std::vector<CoveredBranch> branches;
  std::vector<CoveredCopy> copies;  // empty: no object has several
};

struct CoveredFunction {
  std::string name;  // demangled
  uint32_t line = 0;
  uint32_t last_line = 0;
  uint64_t entries = 0;
  Executed state = Executed::kNo;
};

struct CoveredFile {
  uint32_t file = 0;                       // number in the report
  std::vector<CoveredLine> lines;          // by line
  std::vector<CoveredFunction> functions;  // by line, then name
  CoverageShares shares;                   // of functions, lines and branches
};

// Returns the files with a known line or function, by number. The report must outlive them.
std::vector<CoveredFile> BySource(const CoverageReport& report);

// All files of one folder.
struct CoveredDirectory {
  std::string name;
  size_t files = 0;
  CoverageShares shares;  // of functions, lines and branches
};

// Returns the folders sorted by name.
std::vector<CoveredDirectory> ByDirectory(const CoverageReport& report,
                                          const std::vector<CoveredFile>& files);

// Returns the state of one thing that has two copies.
Executed EitherState(Executed a, Executed b);

}  // namespace flowback
