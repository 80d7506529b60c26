// SPDX-License-Identifier: MIT
// How often numbers occur in a stack of calls, so that a search through all of it happens only when
// it will find something.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/mix_bits.h"

namespace flowback {

// Open addressing; a number whose count fell to 0 keeps its slot until the table is made anew.
class CountTable {
 public:
  // 0 is not counted.
  void Add(uint64_t key) {
    if (key == 0) return;
    if (2 * (used_ + 1) > slots_.size()) Grow();
    Slot& slot = slots_[SlotOf(key)];
    if (slot.key == 0) {
      slot.key = key;
      ++used_;
    }
    ++slot.count;
  }
  // REQUIRES: it was added, or is 0.
  void Remove(uint64_t key) {
    if (key != 0) --slots_[SlotOf(key)].count;
  }
  bool Has(uint64_t key) const {
    return key != 0 && !slots_.empty() && slots_[SlotOf(key)].count != 0;
  }

 private:
  struct Slot {
    uint64_t key = 0;
    uint64_t count = 0;
  };
  static constexpr size_t kFirstSize = 16;

  size_t SlotOf(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    size_t at = (MixBits(key) >> 20) & mask;
    while (slots_[at].key != key && slots_[at].key != 0) at = (at + 1) & mask;
    return at;
  }
  void Grow() {
    const std::vector<Slot> old = std::move(slots_);
    size_t live = 0;
    for (const Slot& slot : old) live += slot.count != 0;
    size_t size = kFirstSize;
    while (size < 4 * (live + 1)) size *= 2;
    slots_.assign(size, {});
    used_ = live;
    for (const Slot& slot : old)
      if (slot.count != 0) slots_[SlotOf(slot.key)] = slot;
  }

  std::vector<Slot> slots_;  // a power of two of them, or none
  size_t used_ = 0;
};

}  // namespace flowback
