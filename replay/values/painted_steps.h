// SPDX-License-Identifier: MIT
// A step for each of some ranges of addresses: the one that was painted over them last.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

namespace flowback::values {

class PaintedSteps {
 public:
  // Both addresses are within the range.
  void Paint(uint64_t first, uint64_t last, uint32_t step) {
    Cut(first);
    if (last != ~uint64_t{0}) Cut(last + 1);
    parts_.erase(parts_.lower_bound(first), parts_.upper_bound(last));
    parts_[first] = {.last = last, .step = step};
  }
  // 0: nothing was painted there.
  uint32_t At(uint64_t address) const {
    const auto behind = parts_.upper_bound(address);
    if (behind == parts_.begin()) return 0;
    const Part& part = std::prev(behind)->second;
    return address <= part.last ? part.step : 0;
  }
  void Clear() { parts_.clear(); }

 private:
  struct Part {
    uint64_t last = 0;
    uint32_t step = 0;
  };
  // No part reaches over the address.
  void Cut(uint64_t address) {
    const auto behind = parts_.upper_bound(address);
    if (behind == parts_.begin()) return;
    const auto at = std::prev(behind);
    if (at->first == address || at->second.last < address) return;
    parts_[address] = at->second;
    at->second.last = address - 1;
  }

  std::map<uint64_t, Part> parts_;  // by the first address
};

}  // namespace flowback::values
