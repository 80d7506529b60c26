// SPDX-License-Identifier: MIT
#include "decode/flow/range_counter.h"

#include <optional>

namespace flowback::flow {

void RangeCounter::AddWithin(std::span<const BlockStep> path, uint32_t next, uint64_t times) {
  std::optional<size_t> begin;
  ForEachTaken(path, [&](size_t i) {
    const uint32_t to = i + 1 < path.size() ? path[i + 1].number() : next;
    if (begin) Add({path[*begin].number(), path[i].number(), to}, times);
    begin = i + 1;
  });
}

void RangeCounter::AddNew(const RangeBlocks& blocks, uint64_t times) {
  const std::span<const BlockStep> steps = StepsOf(blocks.first, BlockStep::Of(blocks.last, true));
  const uint32_t number =
      consumer_.OnNewRange(graph_->Table(), steps, BlockStep::Of(blocks.next, false));
  table_->Add(blocks, number, times);
}

// The code between lies in a line, so it leads from the one to the other.
std::span<const BlockStep> RangeCounter::StepsOf(uint32_t first, BlockStep last) {
  steps_.clear();
  for (uint32_t id = first; id != last.number();) {
    steps_.push_back(BlockStep::Of(id, false));
    id = graph_->Successor(id, graph_->node(id).kind == NodeKind::kConditional ? 0 : 1);
  }
  steps_.push_back(last);
  return steps_;
}

void RangeCounter::End(uint32_t first, BlockStep last, uint64_t next) {
  const std::span<const BlockStep> steps =
      last.taken() ? std::span<const BlockStep>(&last, 1) : StepsOf(first, last);
  consumer_.OnRangesEnd(graph_->Table(), steps, next);
}

void RangeCounter::Finish() {
  for (auto& [graph, table] : tables_)
    table.Take([this](uint32_t number, uint64_t times) { consumer_.OnRange(number, times); });
}

}  // namespace flowback::flow
