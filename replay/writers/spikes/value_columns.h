// SPDX-License-Identifier: MIT
// The columns of a histogram: each covers a range of values whose ends have the same ratio as those
// of the others.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace flowback {

class ValueColumns {
 public:
  // `sorted` is in ascending order and not empty; `count` is at least 1.
  ValueColumns(const std::vector<uint64_t>& sorted, size_t count)
      : low_(std::log(static_cast<double>(std::max<uint64_t>(sorted.front(), 1)))),
        high_(std::log(static_cast<double>(std::max<uint64_t>(sorted.back(), 1)))),
        count_(count) {}

  size_t size() const { return count_; }
  size_t Of(uint64_t value) const {
    if (high_ <= low_) return 0;
    const double at = (std::log(static_cast<double>(std::max<uint64_t>(value, 1))) - low_) /
                      (high_ - low_) * static_cast<double>(count_);
    return std::min(static_cast<size_t>(std::max(at, 0.0)), count_ - 1);
  }

 private:
  double low_;
  double high_;
  size_t count_;
};

}  // namespace flowback
