// SPDX-License-Identifier: MIT
// What of the code of each object was executed: counts (coverage_counts.h) held against the code
// that there is (static_code.h), by function, line and branch. All reports are written from it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/replay/coverage_counts.h"
#include "flowback/replay/object_image.h"
#include "flowback/replay/static_code.h"

namespace flowback {

enum class Executed : uint8_t {
  kNo,
  kYes,
  kUnknown,  // not seen, but trace was lost, filtered or undecodable in which it may have been
};

// total = executed + unknown + what never was.
struct CoverageShare {
  uint64_t total = 0;
  uint64_t executed = 0;
  uint64_t unknown = 0;

  uint64_t never() const { return total - executed - unknown; }
  void Add(Executed state, uint64_t count = 1);
  void Add(const CoverageShare& other);
};

struct CoverageShares {
  CoverageShare functions;
  CoverageShare blocks;
  CoverageShare branches;  // directions: two for each conditional branch
  CoverageShare instructions;
  CoverageShare lines;

  void Add(const CoverageShares& other);
};

// A conditional branch of the static code.
struct BranchCoverage {
  uint64_t address = 0;
  uint64_t target = 0;
  uint64_t taken = 0;
  uint64_t not_taken = 0;
  uint32_t file = 0;  // number in CoverageReport::files; with line 0: not known
  uint32_t line = 0;
};

struct FunctionCoverage {
  uint32_t number = 0;   // in StaticCode::functions
  uint64_t entries = 0;  // executions of its first instruction
  Executed state = Executed::kNo;
  CoverageShares shares;  // of the function alone; `functions` is one
  uint32_t file = 0;      // where it begins; with line 0: not known
  uint32_t line = 0;
  uint32_t last_line = 0;  // of that file, of its own code; 0: not known
};

// A line of an object's own code, inlined copies added up.
struct LineCoverage {
  uint32_t file = 0;
  uint32_t line = 0;
  // How often control came to the line from another one.
  uint64_t times = 0;
  Executed state = Executed::kNo;
  std::vector<uint32_t> branches;  // numbers in ObjectCoverage::branches
};

struct ObjectCoverage {
  const ObjectCounts* counts = nullptr;
  std::shared_ptr<const ObjectImage> image;  // null: no file was found; `problem` says why
  std::shared_ptr<const StaticCode> code;
  std::string problem;
  // By number of static instruction.
  std::vector<uint64_t> times;
  std::vector<FunctionCoverage> functions;  // by address
  std::vector<BranchCoverage> branches;     // by address
  std::vector<LineCoverage> lines;  // by file, then line; copies in several functions are one
  CoverageShares shares;
  // Instructions executed that are in no function of the static code: their count, and executions.
  uint64_t outside_instructions = 0;
  uint64_t outside_times = 0;

  Executed StateOf(uint64_t count) const {
    return count != 0 ? Executed::kYes : counts->IsKnown() ? Executed::kNo : Executed::kUnknown;
  }
};

// What is of interest.
struct CoverageChoice {
  std::function<bool(const ObjectId& object)> object;          // empty: all
  std::function<bool(const std::string& name)> function;       // empty: all
  std::function<bool(const std::string& source_file)> source;  // empty: all
  bool lines = true;  // look for lines, which takes the longest
};

struct CoverageReport {
  std::vector<std::string> files;  // of source, sorted
  std::vector<ObjectCoverage> objects;
  CoverageShares shares;
  std::vector<std::string> problems;  // sentences: what could not be read, and what helps

  // `counts` must outlive it.
  static CoverageReport Of(const CoverageCounts& counts, const ImageSearch& search,
                           const CoverageChoice& choice);
};

}  // namespace flowback
