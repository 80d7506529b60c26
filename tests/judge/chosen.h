// SPDX-License-Identifier: MIT
// Which of a list of changes are made to a recording.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>

#include "tests/support/full.h"

namespace flowback::judge {

// In a full run (tests/support/full.h) all. Otherwise short recordings get all, longer ones every
// third, the longest one: which one it begins with is another for each recording.
class Chosen {
 public:
  Chosen(const std::string& recording, size_t bytes, size_t changes) {
    constexpr size_t kLong = 50'000;
    constexpr size_t kLongest = 500'000;
    if (testing::IsFullRun() || bytes <= kLong) return;
    step_ = std::clamp<size_t>(bytes > kLongest ? changes : 3, 1, std::max<size_t>(changes, 1));
    first_ = std::accumulate(recording.begin(), recording.end(), size_t{0}) % step_;
  }

  bool Has(size_t change) const { return change % step_ == first_; }

 private:
  size_t step_ = 1;
  size_t first_ = 0;
};

}  // namespace flowback::judge
