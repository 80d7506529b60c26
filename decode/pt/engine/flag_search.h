// SPDX-License-Identifier: MIT
// Whether the code ahead leads to an instruction of some kind without a packet.
#pragma once

#include <cstdint>

#include "decode/pt/flow_names.h"

namespace flowback::pt {

// Many packets in a row may ask of one place, mostly in vain; what was in vain is not looked for
// again.
class FlagSearch {
 public:
  // To an instruction with one of `flags`, to which packets bind: an InstructionFlag each.
  bool Finds(BlockGraph& graph, uint32_t from, uint8_t flags) {
    const FailedSearch here{&graph, from, flags};
    if (last_failed_ == here) return false;
    if (graph.Meets(from, [&](uint32_t id) { return graph.Binds(id, flags); })) return true;
    last_failed_ = here;
    return false;
  }

 private:
  struct FailedSearch {
    const BlockGraph* graph = nullptr;
    uint32_t from = 0;
    uint8_t flags = 0;

    bool operator==(const FailedSearch&) const = default;
  };
  FailedSearch last_failed_;
};

}  // namespace flowback::pt
