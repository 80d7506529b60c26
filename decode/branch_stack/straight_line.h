// SPDX-License-Identifier: MIT
// What executed between two branches that were taken, one behind the other: code in a line.
//
//   record 1    401010 -> 401080
//   record 2    4010a2 -> 401010
//
//     401080  mov ...
//     401084  jne 4010f0        conditional: has no record, so it was not taken
//     40108a  ...
//     4010a2  jmp 401010        record 2's source
//
// Where the line would have to pass a branch that is always taken, no execution can have made the
// two records.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "decode/flow/block_graph.h"
#include "flowback/model/execution.h"

namespace flowback::branch_stack {

// A walk's result. It begins at a place and comes to the instruction at another one, which is in
// the block `node`, behind `ahead` instructions of that.
struct StraightLine {
  std::vector<uint32_t> passed;  // blocks that were left at their ends, without a branch
  uint32_t node = 0;
  unsigned ahead = 0;
  bool at_branch = false;  // the instruction is the block's last, and a branch
  // Why it does not come there, and where it was then.
  std::optional<LossCause> broken{};
  uint64_t where = 0;
};

// Walks from `begin` to `end`, both instructions' addresses. The result is kept in `line`, so that
// no walk need make room anew.
void WalkStraight(flow::BlockGraph& graph, uint64_t begin, uint64_t end, StraightLine& line);

}  // namespace flowback::branch_stack
