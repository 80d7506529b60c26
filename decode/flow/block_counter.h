// SPDX-License-Identifier: MIT
// Counts how often blocks were executed, of any number of graphs. A step's count stands in a table
// at the step's value, so adding is one addition. A list of the counts that are not zero makes it
// cheap to take them all when there are few.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "decode/flow/block_graph.h"
#include "flowback/model/block_batch.h"
#include "flowback/model/block_counts.h"

namespace flowback::flow {

// The graphs must outlive it.
class BlockCounter {
 public:
  // Adds to this graph from now on.
  void Use(BlockGraph& graph) {
    if (&graph != graph_) Select(graph);
  }
  // Whole blocks that ended in their branch, or fell through. REQUIRES: Use of their graph.
  void Add(BlockStep step, uint64_t times) {
    if (step.value >= counts_->steps.size()) [[unlikely]]
      Grow(step);
    uint64_t& count = counts_->steps[step.value];
    if (count == 0) counts_->touched.push_back(step);
    count += times;
  }
  // An execution of any other kind.
  void AddOther(uint32_t block, unsigned count, BlockExit exit) {
    ++counts_->others[{block, static_cast<uint16_t>(count), exit}];
  }
  // For branches whose target is not in the code, or that ended the traced part.
  void AddTarget(uint32_t block, uint64_t address, uint64_t times) {
    counts_->targets[{block, address}] += times;
  }
  // Returns the counts since the last call, by graph.
  std::vector<BlockCounts> Take();
  void Clear();

 private:
  struct Counts {
    std::vector<uint64_t> steps;  // by BlockStep::value
    std::vector<BlockStep> touched;
    std::map<std::tuple<uint32_t, uint16_t, BlockExit>, uint64_t> others;
    std::map<std::pair<uint32_t, uint64_t>, uint64_t> targets;

    bool empty() const { return touched.empty() && others.empty() && targets.empty(); }
    void Clear();
  };

  void Select(BlockGraph& graph);
  void Grow(BlockStep step);
  static BlockCounts TakeOf(const BlockGraph& graph, Counts& counts);

  BlockGraph* graph_ = nullptr;
  Counts* counts_ = nullptr;  // of graph_
  std::map<BlockGraph*, Counts> all_;
};

}  // namespace flowback::flow
