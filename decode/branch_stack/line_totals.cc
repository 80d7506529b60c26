// SPDX-License-Identifier: MIT
#include "decode/branch_stack/line_totals.h"

#include <bit>

namespace flowback::branch_stack {

void LineTotals::Learn(const KnownLine& known) {
  if (known.number >= lines_.size()) lines_.resize(std::bit_ceil(known.number + uint64_t{1}));
  Line line;
  const auto append = [&](uint32_t id) {
    const flow::Node& node = known.graph->node(id);
    line.hash = line.hash * node.power + node.hash;
    line.power *= node.power;
    line.count += node.count;
    line.last = node.last;
  };
  for (const uint32_t id : memo_.Passed(known)) {
    append(id);
    line.not_taken += line.last == InstructionClass::kConditional ? 1 : 0;
  }
  append(known.node);
  lines_[known.number] = line;
}

}  // namespace flowback::branch_stack
