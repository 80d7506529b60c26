// SPDX-License-Identifier: MIT
// Which blocks were executed, of any number of graphs, and about how much in each. A block costs
// one store; how much is known of one use of its path in seventeen.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "decode/flow/block_graph.h"
#include "flowback/model/block_batch.h"

namespace flowback::flow {

// The graphs must outlive it.
class BlockMarks {
 public:
  // Adds to this graph from now on; all marks are in it.
  void Use(BlockGraph& graph) {
    if (&graph != graph_) Select(graph);
    const size_t blocks = graph.size();
    if (marks_->executed.size() >= blocks) return;
    marks_->executed.resize(2 * blocks);
    marks_->instructions.resize(2 * blocks);
  }
  // Adds blocks that were executed one behind the other, `times` times.
  void Add(std::span<const BlockStep> steps, uint64_t times) {
    uint8_t* const executed = marks_->executed.data();
    for (const BlockStep step : steps) executed[step.number()] |= WayOf(step.taken());
    Count(steps, times);
  }
  // One block, which was left so (step_way).
  void AddOne(uint32_t block, uint8_t way) {
    const BlockStep step = BlockStep::Of(block, false);
    marks_->executed[block] |= way;
    Count({&step, 1}, 1);
  }
  // Calls `use(BlockGraph&, uint32_t block, uint64_t instructions, uint8_t ways)` for each block
  // that was executed since the last time.
  template <class Consumer>
  void Take(Consumer use) {
    for (auto& [graph, marks] : all_)
      for (uint32_t block = 0; block < marks.executed.size(); ++block) {
        if (marks.executed[block] == 0) continue;
        use(*graph, block, marks.instructions[block], marks.executed[block]);
        marks.executed[block] = 0;
        marks.instructions[block] = 0;
      }
  }

 private:
  static constexpr uint64_t kSample = 17;

  struct Marks {
    std::vector<uint8_t> executed;  // by block: the ways in which it was left
    std::vector<uint64_t> instructions;
  };

  void Count(std::span<const BlockStep> steps, uint64_t times) {
    uncounted_ += times;
    if (uncounted_ < kSample) return;
    const uint64_t counted = uncounted_ - uncounted_ % kSample;
    uncounted_ -= counted;
    for (const BlockStep step : steps)
      marks_->instructions[step.number()] += counted * graph_->node(step.number()).count;
  }
  void Select(BlockGraph& graph) {
    graph_ = &graph;
    marks_ = &all_[&graph];
  }

  BlockGraph* graph_ = nullptr;
  Marks* marks_ = nullptr;  // of graph_
  std::map<BlockGraph*, Marks> all_;
  uint64_t uncounted_ = 0;
};

}  // namespace flowback::flow
