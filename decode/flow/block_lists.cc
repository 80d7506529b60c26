// SPDX-License-Identifier: MIT
#include "decode/flow/block_lists.h"

#include <algorithm>

namespace flowback::flow {

BlockLists::Ref BlockLists::Keep(std::span<const BlockStep> steps, const StepCount* counts,
                                 Lead lead) {
  const auto count = static_cast<uint32_t>(steps.size());
  const unsigned units = UnitsOf(count);
  uint32_t unit = 0;
  if (std::vector<uint32_t>& free = free_[units]; !free.empty()) {
    unit = free.back();
    free.pop_back();
  } else {
    unit = used_;
    used_ += units;
  }
  std::ranges::copy(steps, steps_ + unit * size_t{kUnit});
  std::copy_n(counts, steps.size(), counts_ + unit * size_t{kUnit});
  leads_[unit] = lead;
  return unit << kCountBits | count;
}

void BlockLists::Free(Ref list) {
  if (list != 0) free_[UnitsOf(CountOf(list))].push_back(list >> kCountBits);
}

}  // namespace flowback::flow
