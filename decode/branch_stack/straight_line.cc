// SPDX-License-Identifier: MIT
#include "decode/branch_stack/straight_line.h"

namespace flowback::branch_stack {
namespace {

using flow::NodeInfo;
using flow::NodeKind;

void Break(LossCause cause, uint64_t where, StraightLine& line) {
  line.broken = cause;
  line.where = where;
}

// The instruction at `end` lies in the block, if one begins there.
void Arrive(const flow::BlockGraph& graph, uint32_t id, uint64_t end, StraightLine& line) {
  const CodeBlock block = graph.Block(id);
  uint64_t at = block.address;
  unsigned ahead = 0;
  while (at < end) at += block.lengths[ahead++];
  if (at != end) return Break(LossCause::kNoBranchThere, end, line);
  line.node = id;
  line.ahead = ahead;
  line.at_branch = ahead + 1 == block.count && block.last != InstructionClass::kOther;
}

}  // namespace

void WalkStraight(flow::BlockGraph& graph, uint64_t begin, uint64_t end, StraightLine& line) {
  line.passed.clear();
  line.broken.reset();
  if (begin % TraitsOf(graph.mode()).alignment != 0)
    return Break(LossCause::kNoBranchThere, begin, line);
  if (end < begin) return Break(LossCause::kNotStraight, begin, line);
  uint32_t id = graph.NodeAt(begin);
  for (unsigned blocks = 0; blocks < flow::BlockGraph::kMaxWalk; ++blocks) {
    const NodeKind kind = graph.node(id).kind;
    const NodeInfo& info = graph.info(id);
    if (kind == NodeKind::kNoImage) return Break(LossCause::kNoImage, info.address, line);
    if (kind == NodeKind::kBadInstruction)
      return Break(LossCause::kBadInstruction, info.address, line);
    if (end < info.end()) return Arrive(graph, id, end, line);
    const InstructionClass last = graph.node(id).last;
    const bool goes_on = last == InstructionClass::kOther || last == InstructionClass::kConditional;
    if (!goes_on) return Break(LossCause::kNotStraight, info.LastAddress(), line);
    line.passed.push_back(id);
    id = graph.Successor(id, last == InstructionClass::kOther ? 1 : 0);
    if (graph.info(id).address < begin) break;  // the addresses turned over
  }
  Break(LossCause::kNotStraight, graph.info(id).address, line);
}

}  // namespace flowback::branch_stack
