// SPDX-License-Identifier: MIT
// Counts ranges of code for a RangeConsumer, of any number of graphs.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/range_table.h"
#include "decode/flow/block_graph.h"
#include "flowback/model/range_consumer.h"

namespace flowback::flow {

// The graphs and the consumer must outlive it.
class RangeCounter {
 public:
  explicit RangeCounter(RangeConsumer& consumer) : consumer_(consumer) {}

  // Ranges are of this graph from now on.
  void Use(BlockGraph& graph) {
    if (&graph == graph_) return;
    graph_ = &graph;
    table_ = &tables_[&graph];
  }
  // The range ran `times` times; 0: it is about to run. REQUIRES: Use.
  [[gnu::always_inline]] void Add(const RangeBlocks& blocks, uint64_t times) {
    if (RangeTable::Counter* const counter = table_->Find(blocks); counter != nullptr) [[likely]]
      counter->times += times;
    else
      AddNew(blocks, times);
  }
  // The same for the ranges of a path that begin in it, behind its first branch that was taken.
  // `next` is the block behind the path.
  void AddWithin(std::span<const BlockStep> path, uint32_t next, uint64_t times);
  // A range that is not counted ran as far as `last`, its `first` block included.
  void End(uint32_t first, BlockStep last, uint64_t next);
  // Gives the consumer how often each ran.
  void Finish();

 private:
  void AddNew(const RangeBlocks& blocks, uint64_t times);
  std::span<const BlockStep> StepsOf(uint32_t first, BlockStep last);

  RangeConsumer& consumer_;
  BlockGraph* graph_ = nullptr;
  RangeTable* table_ = nullptr;  // of graph_
  std::map<BlockGraph*, RangeTable> tables_;
  std::vector<BlockStep> steps_;  // of the range at hand
};

}  // namespace flowback::flow
