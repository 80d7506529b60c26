// SPDX-License-Identifier: MIT
// Sums of block counts by what the blocks are of, wherever that was mapped: a body is an object in
// one mode, and a block is known by its body and its offset there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/mix_bits.h"
#include "flowback/model/block_counts.h"
#include "flowback/replay/coverage_counts.h"

namespace flowback {

// Numbers of added items, by their hash. The caller decides equality.
class NumberTable {
 public:
  // Returns the number for which `is_it` holds. If no number does, adds `next` and returns it.
  // `hash_of` returns the hash of a number.
  template <class IsIt, class HashOf>
  uint32_t Find(uint64_t hash, uint32_t next, IsIt&& is_it, HashOf&& hash_of) {
    if (2 * (size_t{next} + 1) > slots_.size()) Grow(next, hash_of);
    const size_t mask = slots_.size() - 1;
    size_t at = hash >> 20 & mask;
    for (; slots_[at] != 0; at = (at + 1) & mask)
      if (is_it(slots_[at] - 1)) return slots_[at] - 1;
    slots_[at] = next + 1;
    return next;
  }

 private:
  template <class HashOf>
  void Grow(uint32_t count, HashOf&& hash_of) {
    constexpr size_t kFirst = 1024;
    slots_.assign(slots_.empty() ? kFirst : 2 * slots_.size(), 0);
    const size_t mask = slots_.size() - 1;
    for (uint32_t number = 0; number < count; ++number) {
      size_t at = hash_of(number) >> 20 & mask;
      while (slots_[at] != 0) at = (at + 1) & mask;
      slots_[at] = number + 1;
    }
  }

  std::vector<uint32_t> slots_;  // a power of two of them: number + 1, or 0
};

class BlockSums {
 public:
  struct Place {
    uint32_t body = 0;
    uint64_t offset = 0;
  };

  // The use's first `lengths` instructions are these; where it has more, they lie elsewhere.
  void Add(Place place, const BlockUse& use);
  void Add(Place branch, InstructionClass kind, Place target, uint64_t times);
  // Returns the counts of each body; `object` of a target is its body. Forgets all.
  std::vector<ObjectCounts> Take(size_t bodies);

 private:
  struct Block {
    uint64_t offset = 0;
    uint64_t taken = 0;
    uint64_t not_taken = 0;
    uint64_t whole = 0;  // executions of all its instructions
    uint32_t body = 0;
    uint32_t lengths = 0;  // where they begin in lengths_
    uint16_t count = 0;    // of instructions
    uint16_t branch = 0;   // number of the conditional one, where there is one
  };
  struct Cut {  // executions of a block's first instructions alone
    uint32_t block = 0;
    uint16_t count = 0;
    uint64_t times = 0;
  };
  struct Target {
    Place branch;
    Place target;
    uint64_t times = 0;
    InstructionClass kind = InstructionClass::kOther;
  };

  static uint64_t HashOf(Place place) { return MixBits(place.offset * 31 + place.body); }
  static uint64_t HashOf(const Target& target) {
    return HashOf(target.branch) + 7 * HashOf(target.target);
  }
  void Lengthen(uint32_t number, const CodeBlock& block);
  void AddCut(uint32_t number, uint16_t count, uint64_t times);
  static void Spread(const Block& block, std::vector<uint64_t>& cut, const uint8_t* lengths,
                     ObjectCounts& counts);

  std::vector<Block> blocks_;
  NumberTable block_numbers_;
  std::vector<uint8_t> lengths_;
  std::vector<Cut> cuts_;
  NumberTable cut_numbers_;
  std::vector<Target> targets_;
  NumberTable target_numbers_;
};

}  // namespace flowback
