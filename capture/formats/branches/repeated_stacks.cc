// SPDX-License-Identifier: MIT
#include "capture/formats/branches/repeated_stacks.h"

#include <algorithm>
#include <cstring>

namespace flowback::perf {

void RepeatedStacks::Add(std::span<const BranchRecord> stack, uint64_t times) {
  runs_.push_back({.begin = records_, .first = kept_.size(), .count = stack.size()});
  kept_.insert(kept_.end(), stack.begin(), stack.end());
  records_ += stack.size() * times;
}

size_t RepeatedStacks::Make(size_t offset, std::span<uint8_t> to) const {
  const size_t wanted = std::min(to.size(), size() - std::min(offset, size()));
  auto run = std::ranges::upper_bound(runs_, offset / kBranchRecordSize, {}, &Run::begin);
  if (run != runs_.begin()) --run;
  for (size_t made = 0; made < wanted;) {
    const uint64_t record = (offset + made) / kBranchRecordSize;
    while (run + 1 != runs_.end() && (run + 1)->begin <= record) ++run;
    const size_t skipped = (offset + made) % kBranchRecordSize;
    const size_t size = std::min(kBranchRecordSize - skipped, wanted - made);
    const auto* bytes = reinterpret_cast<const uint8_t*>(&At(*run, record));
    std::memcpy(to.data() + made, bytes + skipped, size);
    made += size;
  }
  return wanted;
}

}  // namespace flowback::perf
