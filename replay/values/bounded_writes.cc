// SPDX-License-Identifier: MIT
#include "replay/values/bounded_writes.h"

#include "replay/values/memory_cells.h"

namespace flowback::values {

CallValues CallOf(const ValueGraph& graph, const GraphStep& step,
                  const std::vector<KnownBits>& values) {
  const GraphCall& made = graph.calls[step.address];
  CallValues call{.number = BitsOf(step.a, values)};
  const auto registers = CallArguments(graph.mode);
  for (size_t i = 0; i < registers.size(); ++i)
    call.arguments[i] = values[made.before[FollowedIndex(registers[i])]];
  call.result = values[made.result];
  return call;
}

KernelWrites PartOf(const ValueGraph& graph, const GraphStep& step,
                    const std::vector<KnownBits>& values) {
  const auto address = MemoryCells::AddressOf(graph.addresses[step.address], values);
  const KnownBits count = BitsOf(step.a, values);
  constexpr uint64_t kMostCount = uint64_t{1} << 40;
  if (!address || !count.all() || count.value > kMostCount) return {.anywhere = true};
  const uint64_t size = count.value * step.constant;
  KernelWrites writes{.count = 1};
  writes.ranges[0] = {.address = *address, .size = size};
  // Down from there, where the direction flag is set.
  if (step.both_ways && size != 0)
    writes.ranges[0] = {.address = *address - (size - step.constant),
                        .size = 2 * size - step.constant};
  return writes;
}

}  // namespace flowback::values
