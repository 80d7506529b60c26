// SPDX-License-Identifier: MIT
// Totals of a stream of branch stacks: what a line that is known by heart adds is worked out once.
#pragma once

#include <cstdint>
#include <vector>

#include "decode/branch_stack/line_memo.h"
#include "decode/summed_flow.h"

namespace flowback::branch_stack {

class LineTotals final : public SummedFlow {
 public:
  // `memo` must outlive it.
  explicit LineTotals(const LineMemo& memo) : memo_(memo) {}

  // All of the line executed, and its branch led somewhere.
  void OnLine(const KnownLine& known, uint64_t tsc, const ThreadStay* stay) {
    if (known.number >= lines_.size() || lines_[known.number].count == 0) Learn(known);
    Add(lines_[known.number], tsc, stay);
  }

 private:
  void Learn(const KnownLine& known);

  const LineMemo& memo_;
  std::vector<Line> lines_;  // by their numbers
};

}  // namespace flowback::branch_stack
