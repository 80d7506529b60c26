// SPDX-License-Identifier: MIT
#include "decode/flow/block_counter.h"

#include <algorithm>

namespace flowback::flow {

void BlockCounter::Select(BlockGraph& graph) {
  graph_ = &graph;
  counts_ = &all_[&graph];
}

// Graphs grow while they are walked.
void BlockCounter::Grow(BlockStep step) {
  constexpr size_t kLeast = 1024;
  counts_->steps.resize(std::max<size_t>(kLeast, size_t{step.value} * 2 + 2));
}

void BlockCounter::Counts::Clear() {
  for (const BlockStep step : touched) steps[step.value] = 0;
  touched.clear();
  others.clear();
  targets.clear();
}

void BlockCounter::Clear() {
  for (auto& [graph, counts] : all_) counts.Clear();
}

std::vector<BlockCounts> BlockCounter::Take() {
  std::vector<BlockCounts> taken;
  for (auto& [graph, counts] : all_)
    if (!counts.empty()) taken.push_back(TakeOf(*graph, counts));
  return taken;
}

BlockCounts BlockCounter::TakeOf(const BlockGraph& graph, Counts& counts) {
  BlockCounts taken{.space = &graph.space(), .mode = graph.mode(), .uses = {}, .targets = {}};
  taken.uses.reserve(counts.touched.size() + counts.others.size());
  for (const BlockStep step : counts.touched) {
    const CodeBlock block = graph.Block(step.number());
    taken.uses.push_back({.block = block,
                          .count = block.count,
                          .exit = ExitOf(block.last, step.taken()),
                          .times = counts.steps[step.value]});
    // The code alone contains a direct call's target.
    if (block.last == InstructionClass::kCall && step.taken())
      taken.targets.push_back({.branch = graph.info(step.number()).LastAddress(),
                               .kind = block.last,
                               .target = graph.SuccessorAddress(step.number(), 1),
                               .times = counts.steps[step.value]});
  }
  for (const auto& [use, times] : counts.others)
    taken.uses.push_back({.block = graph.Block(std::get<0>(use)),
                          .count = std::get<1>(use),
                          .exit = std::get<2>(use),
                          .times = times});
  for (const auto& [target, times] : counts.targets)
    taken.targets.push_back({.branch = graph.info(target.first).LastAddress(),
                             .kind = graph.node(target.first).last,
                             .target = target.second,
                             .times = times});
  counts.Clear();
  return taken;
}

}  // namespace flowback::flow
