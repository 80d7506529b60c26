// SPDX-License-Identifier: MIT
// What both engines say of loops without packets, in the same words.
#pragma once

#include <cstdint>
#include <string>

#include "base/hex.h"
#include "decode/flow/block_graph.h"
#include "flowback/model/execution.h"

namespace flowback::pt {

// Each fills in the cause and the detail; the engine adds the place and the time.

// `ip` is of an instruction of the loop.
inline DataLoss RoundsLoss(const flow::BlockGraph::Round& round, uint64_t ip) {
  DataLoss loss;
  loss.cause = round.calls ? LossCause::kDepthUnknown : LossCause::kRoundsUnknown;
  loss.detail = "at least 1 round of the " + std::to_string(round.instructions) +
                (round.instructions == 1 ? " instruction" : " instructions") + " from " + Hex(ip) +
                ", number not proven";
  return loss;
}

// The trace ends before an endless loop to which `ip` leads.
inline DataLoss EndlessEndLoss(uint64_t ip) {
  DataLoss loss;
  loss.cause = LossCause::kRoundsUnknown;
  loss.detail = "the trace ends at " + Hex(ip) + ", from where the code goes round without packets";
  return loss;
}

// The recorder counted `missing` instructions more than the packets show; negative: fewer.
inline DataLoss CountLoss(int64_t missing) {
  DataLoss loss;
  loss.cause = LossCause::kCountDiffers;
  loss.detail = missing > 0 ? std::to_string(missing) + " more than the packets show"
                            : std::to_string(-missing) + " fewer than the packets show";
  return loss;
}

// Whether `count` instructions from the begin of `id` need no packet. They may be part of a loop.
inline bool CanWalk(flow::BlockGraph& graph, uint32_t id, uint64_t count) {
  if (flow::NeedsNoPacket(graph.node(id).kind) && !graph.Terminates(id)) return true;
  while (count >= graph.node(id).count) {
    if (!flow::NeedsNoPacket(graph.node(id).kind)) return count == 0;
    count -= graph.node(id).count;
    id = graph.Successor(id, 1);
  }
  return graph.node(id).count != 0;
}

}  // namespace flowback::pt
