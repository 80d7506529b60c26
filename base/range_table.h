// SPDX-License-Identifier: MIT
// Counters of ranges of code, each by the numbers of three blocks.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "flowback/model/block_batch.h"

namespace flowback {

// Block numbers of one table; none is 0.
struct RangeBlocks {
  uint32_t first = 0;
  uint32_t last = 0;  // its branch was taken
  uint32_t next = 0;  // there
  bool operator==(const RangeBlocks&) const = default;
};

class RangeTable {
 public:
  struct Counter {
    RangeBlocks blocks;   // `first` is 0: free
    uint32_t number = 0;  // of the range, by whoever adds it
    uint64_t times = 0;
  };

  // The range's counter, valid until the next Add; null: it was not added yet.
  [[gnu::always_inline]] Counter* Find(const RangeBlocks& blocks) {
    Counter* counter = &counters_[SlotOf(blocks)];
    while (counter->blocks != blocks) {
      if (counter->blocks.first == 0) return nullptr;
      counter = counter == &counters_.back() ? &counters_.front() : counter + 1;
    }
    return counter;
  }
  // REQUIRES: it is not there.
  void Add(const RangeBlocks& blocks, uint32_t number, uint64_t times) {
    if (2 * ++count_ > counters_.size()) Grow();
    Insert({blocks, number, times});
  }
  // Calls add(number, times) for each range that has been counted since the last call.
  template <class Use>
  void Take(Use use) {
    for (Counter& counter : counters_)
      if (counter.times != 0) use(counter.number, std::exchange(counter.times, 0));
  }

 private:
  size_t SlotOf(const RangeBlocks& blocks) const {
    const uint64_t mixed = blocks.first * uint64_t{0x9e3779b97f4a7c15} +
                           blocks.last * uint64_t{0xc2b2ae3d27d4eb4f} +
                           blocks.next * uint64_t{0x165667b19e3779f9};
    return (mixed ^ mixed >> 29) * uint64_t{0xbf58476d1ce4e5b9} >> shift_;
  }
  void Insert(const Counter& counter) {
    size_t slot = SlotOf(counter.blocks);
    while (counters_[slot].blocks.first != 0) slot = (slot + 1) % counters_.size();
    counters_[slot] = counter;
  }
  void Grow() {
    const std::vector<Counter> before =
        std::exchange(counters_, std::vector<Counter>(2 * counters_.size()));
    --shift_;
    for (const Counter& counter : before)
      if (counter.blocks.first != 0) Insert(counter);
  }

  static constexpr int kFirstBits = 10;
  std::vector<Counter> counters_ = std::vector<Counter>(size_t{1} << kFirstBits);
  int shift_ = 64 - kFirstBits;  // the slot is in a hash's upper bits
  size_t count_ = 0;             // of ranges
};

// Calls use(i) for each step that transferred control, in order, for 64 of them at a time: to ask
// step by step would mislead the processor's prediction at nearly every branch of the flow.
template <class Use>
void ForEachTaken(std::span<const BlockStep> steps, Use use) {
  constexpr size_t kTogether = 64;
  for (size_t begin = 0; begin < steps.size(); begin += kTogether) {
    const std::span<const BlockStep> some =
        steps.subspan(begin, std::min(kTogether, steps.size() - begin));
    uint64_t taken = 0;
    for (size_t i = 0; i < some.size(); ++i) taken |= uint64_t{some[i].taken()} << i;
    for (; taken != 0; taken &= taken - 1)
      use(begin + static_cast<size_t>(std::countr_zero(taken)));
  }
}

}  // namespace flowback
