// SPDX-License-Identifier: MIT
#include "decode/pt/libipt/loop_rounds.h"

namespace flowback::libipt {

void LoopRounds::TakeCount(const pt::ExecutedCount& count, uint64_t retired) {
  if (flow_.known && !count.begins) {
    last_ = count;
    return;
  }
  last_.reset();
  flow_ = {.known = true, .proves = false, .count = count.instructions, .retired = retired};
}

int64_t LoopRounds::Settle(uint64_t retired) {
  const int64_t missing = flow_.Missing(*last_, retired);
  flow_ = {.known = true, .proves = false, .count = last_->instructions, .retired = retired};
  last_.reset();
  return missing;
}

void LoopRounds::SetProven(uint64_t retired) {
  flow_.retired = retired;
  flow_.proves = true;
}

flow::BlockGraph::Round LoopRounds::RoundFrom(const AddressSpace* space, CodeMode mode,
                                              uint64_t ip) {
  if (space == nullptr) return {};
  flow::BlockGraph& graph = GraphOf(space, mode);
  return graph.RoundFrom(graph.NodeAt(ip));
}

bool LoopRounds::Terminates(const AddressSpace* space, CodeMode mode, uint64_t ip) {
  if (space == nullptr) return true;
  flow::BlockGraph& graph = GraphOf(space, mode);
  return graph.Terminates(graph.NodeAt(ip));
}

// The space lives as long as the input does.
flow::BlockGraph& LoopRounds::GraphOf(const AddressSpace* space, CodeMode mode) {
  if (graph_ == nullptr || &graph_->space() != space || graph_->mode() != mode)
    graph_ = std::make_unique<flow::BlockGraph>(
        std::shared_ptr<const AddressSpace>(std::shared_ptr<void>(), space), mode);
  return *graph_;
}

}  // namespace flowback::libipt
