// SPDX-License-Identifier: MIT
// How often each instruction ran, of ranges that ran so many times each.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

namespace flowback::cli {

class RangeTimes {
 public:
  // `first` and `last` are addresses of instructions. REQUIRES: nothing was asked yet.
  void Add(uint64_t first, uint64_t last, uint64_t times) {
    times_[first] += times;
    times_[last + 1] -= times;
  }
  // All ranges have been added.
  void Sum() {
    uint64_t sum = 0;
    for (auto& [address, times] : times_) times = sum += times;
  }
  uint64_t At(uint64_t address) const {
    const auto after = times_.upper_bound(address);
    return after == times_.begin() ? 0 : std::prev(after)->second;
  }

 private:
  // By address: by how much more often it runs from there on than ahead of it, modulo 2^64; once
  // summed, how often.
  std::map<uint64_t, uint64_t> times_;
};

}  // namespace flowback::cli
