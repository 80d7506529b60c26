// SPDX-License-Identifier: MIT
// Loops of direct jumps and calls, which write no packets (decode/pt/engine/flow_rounds.h). libipt
// shows how the flow comes for the first time to the instruction that was interrupted. The rounds
// before that are known only where the recorder counted instructions; this finds them in the code.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "decode/flow/block_graph.h"
#include "decode/pt/engine/counted_flow.h"
#include "decode/pt/libipt/flow_writer.h"

namespace flowback::libipt {

class LoopRounds {
 public:
  // The recorder's count; `retired`: instructions so far, as in the functions below.
  void TakeCount(const pt::ExecutedCount& count, uint64_t retired);
  // The flow is not known any more.
  void Forget() { flow_ = {}, last_.reset(); }
  // A count waits for the place that it belongs to.
  bool waits() const { return last_.has_value(); }
  // Control stands there. Returns how many more instructions the recorder counted than libipt
  // decoded; negative: fewer.
  int64_t Settle(uint64_t retired);
  // Settle's instructions have been handed on.
  void SetProven(uint64_t retired);
  bool ProvesPlaceAt(uint64_t retired) const { return flow_.ProvesPlaceAt(retired); }

  // The round that leads from `ip` back to it.
  flow::BlockGraph::Round RoundFrom(const AddressSpace* space, CodeMode mode, uint64_t ip);
  // Whether the code from `ip` on comes to one that needs a packet.
  bool Terminates(const AddressSpace* space, CodeMode mode, uint64_t ip);
  // Calls `use` with each of the `count` instructions from `ip` on, which need no packet.
  template <class Use>
  void Walk(const AddressSpace* space, CodeMode mode, uint64_t ip, uint64_t count, Use use);

 private:
  flow::BlockGraph& GraphOf(const AddressSpace* space, CodeMode mode);

  pt::CountedFlow flow_;
  std::optional<pt::ExecutedCount> last_;  // waits
  std::unique_ptr<flow::BlockGraph> graph_;
};

template <class Use>
void LoopRounds::Walk(const AddressSpace* space, CodeMode mode, uint64_t ip, uint64_t count,
                      Use use) {
  flow::BlockGraph& graph = GraphOf(space, mode);
  for (uint32_t id = graph.NodeAt(ip); count != 0; id = graph.Successor(id, 1)) {
    const flow::NodeInfo& info = graph.info(id);
    uint64_t at = info.address;
    for (unsigned i = 0; i < info.block->count && count != 0; ++i, --count) {
      Completed completed{.ip = at, .size = info.block->lengths[i], .mode = mode};
      at += completed.size;
      if (i + 1u == info.block->count && IsDirect(graph.node(id).last)) {
        completed.kind = graph.node(id).last;
        completed.exit = BlockExit::kTaken;
        completed.next = graph.SuccessorAddress(id, 1);
      }
      use(completed);
    }
  }
}

}  // namespace flowback::libipt
