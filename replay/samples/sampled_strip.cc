// SPDX-License-Identifier: MIT
#include "replay/samples/sampled_strip.h"

#include <algorithm>
#include <map>

namespace flowback {
namespace {

// Two that are as many: the one whose number is lower.
void TellFunctionOf(const std::map<uint32_t, uint64_t>& counts, StripColumn& column) {
  for (const auto& [function, count] : counts) {
    if (function == CallPath::kNoFunction || count <= column.function_time) continue;
    column.function = function;
    column.function_time = count;
  }
}

}  // namespace

std::vector<StripColumn> SampledStrip(std::span<const ThreadSample> samples, uint64_t begin,
                                      uint64_t end, size_t columns) {
  std::vector<StripColumn> strip(columns);
  if (columns == 0) return strip;
  const auto column_of = [&](uint64_t time) {
    const __uint128_t scaled = static_cast<__uint128_t>(time - begin) * columns / (end - begin);
    return std::min(static_cast<size_t>(scaled), columns - 1);
  };
  size_t at = 0;
  std::map<uint32_t, uint64_t> counts;
  for (const ThreadSample& sample : samples) {
    if (sample.time < begin || sample.time > end) continue;
    const size_t column = column_of(sample.time);
    if (column != at) {
      TellFunctionOf(counts, strip[at]);
      counts.clear();
      at = column;
    }
    ++counts[sample.function];
    ++strip[at].times[static_cast<size_t>(TimeClass::kExecuting)];
  }
  TellFunctionOf(counts, strip[at]);
  return strip;
}

}  // namespace flowback
