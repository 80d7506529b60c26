// SPDX-License-Identifier: MIT
#include "decode/pt/engine/tracing_limits.h"

#include <algorithm>

namespace flowback::pt {

bool TracingLimits::StopAtEndOf(const BlockGraph& graph, uint32_t id,
                                std::optional<uint64_t> ip) const {
  if (ip) return graph.SuccessorAddress(id, 1) == *ip;
  return LeavesFilter(graph, id) || graph.Binds(id, kFlagMovCr3);
}

// Erratum: the packet at the filter's end has no IP.
bool TracingLimits::LeavesFilter(const BlockGraph& graph, uint32_t id) const {
  if (!errata_.filter_exit_no_ip || config_.filter_ranges.empty()) return false;
  const InstructionClass last = graph.node(id).last;
  if (last != InstructionClass::kJump && last != InstructionClass::kCall) return false;
  const uint64_t target = graph.SuccessorAddress(id, 1);
  return std::ranges::none_of(config_.filter_ranges, [target](const AddressRange& range) {
    return range.Contains(target);
  });
}

}  // namespace flowback::pt
