// SPDX-License-Identifier: MIT
// One object's part of a coverage report: its counts held against its code.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "flowback/replay/coverage_report.h"

namespace flowback {

// Numbers of source files. They are given in the order of asking; the report has them sorted.
class SourceFileNumbers {
 public:
  uint32_t Of(const std::string& file);
  // The names, sorted, and by number as given so far the number among these.
  struct Sorted {
    std::vector<std::string> names;
    std::vector<uint32_t> numbers;
  };
  Sorted Take() const;

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
};

// First step: the object's file, its code, how often each instruction was executed and where it
// comes from.
ObjectCoverage HoldAgainstCode(const ObjectCounts& counts, const CoverageSources& sources,
                               SourceFileNumbers& files);

// Then finds the instructions that may have executed unseen. `counts` has all objects that were
// mapped.
void MarkUnknown(std::vector<ObjectCoverage>& objects, const CoverageCounts& counts,
                 const CoverageSources& sources);

// Second step, when files have their numbers: functions, branches, lines and all shares.
void SumUp(ObjectCoverage& object, const CoverageChoice& choice,
           const std::vector<std::string>& files);

}  // namespace flowback
