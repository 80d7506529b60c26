// SPDX-License-Identifier: MIT
// Compares counts (coverage_counts.h) with the code of each object (static_code.h), by function,
// line and branch. All reports are written from it.
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
#include "flowback/replay/source_lines.h"
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
  void Add(Executed state);
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

// Where in the source an instruction comes from; line 0: not known.
struct SourceLine {
  uint32_t file = 0;  // number in CoverageReport::files
  uint32_t line = 0;

  friend auto operator<=>(const SourceLine&, const SourceLine&) = default;
};

// A conditional branch of the static code.
struct BranchCoverage {
  uint64_t address = 0;
  uint64_t target = 0;
  uint64_t taken = 0;
  uint64_t not_taken = 0;
  SourceLine at;
};

struct FunctionCoverage {
  uint32_t number = 0;   // in StaticCode::functions
  uint64_t entries = 0;  // executions of its first instruction
  Executed state = Executed::kNo;
  CoverageShares shares;   // of the function alone; `functions` is one
  SourceLine at;           // where it begins
  uint32_t last_line = 0;  // of that file, of the function's code; 0: not known
};

// One of several copies of a line: where it was inlined, or a template's.
struct LineCopy {
  uint32_t function = 0;  // that its code lies in: number in StaticCode::functions
  uint64_t times = 0;
  Executed state = Executed::kNo;
};

// A line, all of its copies in the object added up.
struct LineCoverage {
  SourceLine at;
  // How often control came to the line from another one, or again by a jump back.
  uint64_t times = 0;
  Executed state = Executed::kNo;
  std::vector<uint32_t> branches;  // numbers in ObjectCoverage::branches
  std::vector<LineCopy> copies;    // by address; empty: there is one
};

struct ObjectCoverage {
  const ObjectCounts* counts = nullptr;
  std::shared_ptr<const ObjectImage> image;  // null: no file was found; `problem` says why
  std::shared_ptr<const StaticCode> code;
  std::string problem;
  // By number of static instruction.
  std::vector<uint64_t> times;
  std::vector<SourceLine> places;
  std::vector<SourceLine> begins;           // by number of static function: where its source begins
  std::vector<uint64_t> scopes;             // SourcePlace::scope
  std::vector<bool> inlined;                // the line belongs to a function inlined there
  std::vector<bool> statements;             // SourcePlace::is_statement
  std::vector<FunctionCoverage> functions;  // by address
  std::vector<BranchCoverage> branches;     // by address
  std::vector<LineCoverage> lines;          // by file, then line
  CoverageShares shares;
  // Instructions executed that are in no function of the static code: how many, and how often.
  uint64_t outside_instructions = 0;
  uint64_t outside_times = 0;

  std::vector<bool> unknown;  // it may have executed where trace is missing

  // Returns the state of an instruction with this count.
  Executed StateOf(uint64_t count, size_t instruction) const {
    if (count != 0) return Executed::kYes;
    return unknown[instruction] ? Executed::kUnknown : Executed::kNo;
  }
  // Returns the state of several instructions; `most` is the largest of their counts.
  static Executed StateOfAll(uint64_t most, bool any_unknown) {
    if (most != 0) return Executed::kYes;
    return any_unknown ? Executed::kUnknown : Executed::kNo;
  }
  const StaticFunction& Code(const FunctionCoverage& function) const {
    return code->functions()[function.number];
  }
};

// Selects a part of the report. An empty choice selects everything.
struct CoverageChoice {
  std::function<bool(const ObjectId& object)> object;
  std::function<bool(const StaticFunction& function)> function;
  std::function<bool(const std::string& source_file)> source;
  // Lines that are not counted, and lines whose branches are not. A function whose first line is
  // not counted is not, either. Both may be empty.
  std::function<bool(const std::string& source_file, uint32_t line)> excludes_line;
  std::function<bool(const std::string& source_file, uint32_t line)> excludes_branches;
};

// The input of a report.
struct CoverageSources {
  // Finds an object's file.
  std::function<Result<ObjectImage>(const ObjectId& object)> open;
  ImageSearch search;            // where separate debug files lie
  SourceLines* lines = nullptr;  // null: without lines
};

struct CoverageReport {
  std::vector<std::string> files;       // of source, sorted
  std::vector<ObjectCoverage> objects;  // as in the counts
  CoverageShares shares;

  // `counts` and what `sources` point to must outlive it.
  static CoverageReport Of(const CoverageCounts& counts, const CoverageSources& sources,
                           const CoverageChoice& choice);
};

}  // namespace flowback
