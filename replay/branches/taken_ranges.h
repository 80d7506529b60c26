// SPDX-License-Identifier: MIT
// How often each range of code ran that ended with one branch, which led to one place: by the
// numbers of the three blocks. Most of a flow runs again and again, so a range is counted with one
// look-up, and added to the sums of its branches at the end.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flowback/model/block_batch.h"

namespace flowback {

// The sums that are counted must not move.
template <class Edge, class NotTaken>
class TakenRanges {
 public:
  // Numbers of blocks; none is 0.
  struct Blocks {
    uint32_t first = 0;
    uint32_t last = 0;  // its branch was taken
    uint32_t next = 0;  // there
    bool operator==(const Blocks&) const = default;
  };
  // What each execution of a range counts for.
  struct Sums {
    Edge* edge = nullptr;
    uint64_t* range = nullptr;
    std::vector<NotTaken*> not_taken;  // the conditional branches on the way
  };

  // The ranges of one table of blocks.
  class OfTable {
   public:
    // How often the range ran; 0: it is new, and the caller then calls Add.
    [[gnu::always_inline]] uint64_t& TimesOf(const Blocks& blocks) {
      Counter* counter = &counters_[SlotOf(blocks)];
      while (counter->blocks != blocks && counter->blocks.first != 0)
        counter = counter == &counters_.back() ? &counters_.front() : counter + 1;
      return counter->times;
    }
    // REQUIRES: TimesOf(blocks) is 0.
    void Add(const Blocks& blocks, Sums sums) {
      if (2 * (sums_.size() + 1) > counters_.size()) Grow();
      sums_.push_back(std::move(sums));
      Insert({.blocks = blocks, .sums = static_cast<uint32_t>(sums_.size() - 1), .times = 1});
    }
    // Calls add(sums, times) for each range, and begins to count anew.
    template <class Add>
    void Take(Add add) {
      for (const Counter& counter : counters_)
        if (counter.times != 0) add(sums_[counter.sums], counter.times);
      *this = OfTable();
    }

   private:
    struct Counter {
      Blocks blocks;  // `first` is 0: free
      uint32_t sums = 0;
      uint64_t times = 0;
    };

    size_t SlotOf(const Blocks& blocks) const {
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
    std::vector<Sums> sums_;
  };

  // Valid until the next call.
  OfTable& Of(const BlockTable& table) {
    if (table_ != &table) {
      table_ = &table;
      of_table_ = &tables_[&table];
    }
    return *of_table_;
  }
  // As OfTable::Take, of all tables.
  template <class Add>
  void Take(Add add) {
    for (auto& [table, ranges] : tables_) ranges.Take(add);
  }

 private:
  std::unordered_map<const BlockTable*, OfTable> tables_;
  const BlockTable* table_ = nullptr;  // the last one asked for
  OfTable* of_table_ = nullptr;
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
