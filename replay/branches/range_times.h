// SPDX-License-Identifier: MIT
// How often each instruction ran, from ranges of code and how often each range ran.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

namespace flowback {

class RangeTimes {
 public:
  // Adds the range from instruction `first` to instruction `last`. REQUIRES: Sum was not called.
  void Add(uint64_t first, uint64_t last, uint64_t times) {
    times_[first] += times;
    times_[last + 1] -= times;
  }
  // Ends the adding.
  void Sum() {
    uint64_t sum = 0;
    for (auto& [address, times] : times_) times = sum += times;
  }
  // Returns how often the instruction at `address` ran. REQUIRES: Sum was called.
  uint64_t At(uint64_t address) const {
    const auto after = times_.upper_bound(address);
    return after == times_.begin() ? 0 : std::prev(after)->second;
  }

 private:
  // By address: how much more often the code from there on runs than the code before, modulo 2^64.
  // After Sum: how often the code from there on runs.
  std::map<uint64_t, uint64_t> times_;
};

}  // namespace flowback
