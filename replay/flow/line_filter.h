// SPDX-License-Identifier: MIT
// Which lines of code executed in a stretch of flow: a filter that says no only where that is so.
//
// A line is 16 bytes at a multiple of 16, as code lies in memory. The filter is a Bloom filter in
// which all bits of one line lie in one word, so that an answer takes one look into memory:
//
//   line -> hash -> | which word | bit | bit | bit | bit |
//
// With 10 bits for each line some 3 of 100 lines that did not execute are taken for ones that did.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/mix_bits.h"

namespace flowback {

using Line = uint64_t;
inline constexpr unsigned kLineBits = 4;
constexpr Line LineOf(uint64_t address) { return address >> kLineBits; }

// Each line once.
class LineSet {
 public:
  void Add(Line line) {
    size_t at = Slot(line);
    for (; slots_[at] != 0; at = (at + 1) & mask())
      if (slots_[at] == line + 1) return;
    slots_[at] = line + 1;
    lines_.push_back(line);
    if (2 * lines_.size() > slots_.size()) Grow();
  }
  const std::vector<Line>& lines() const { return lines_; }
  void Clear() {
    std::ranges::fill(slots_, 0);
    lines_.clear();
  }

 private:
  size_t mask() const { return slots_.size() - 1; }
  size_t Slot(Line line) const { return (MixBits(line) >> 20) & mask(); }
  void Grow() {
    slots_.assign(2 * slots_.size(), 0);
    for (const Line line : lines_) {
      size_t at = Slot(line);
      while (slots_[at] != 0) at = (at + 1) & mask();
      slots_[at] = line + 1;
    }
  }

  std::vector<uint64_t> slots_ = std::vector<uint64_t>(1024);  // a line and one; 0: free
  std::vector<Line> lines_;
};

class LineFilter {
 public:
  static constexpr size_t kBitsForLine = 10;

  // Returns the right number of words for that many lines.
  static size_t WordsFor(size_t lines) { return (lines * kBitsForLine + 63) / 64; }
  // REQUIRES: words > 0.
  static std::vector<uint64_t> Of(const std::vector<Line>& lines, size_t words) {
    std::vector<uint64_t> filter(words);
    for (const Line line : lines) filter[Word(line, words)] |= Bits(line);
    return filter;
  }
  // An empty filter has nothing.
  static bool MayHave(std::span<const uint64_t> filter, Line line) {
    if (filter.empty()) return false;
    const uint64_t bits = Bits(line);
    return (filter[Word(line, filter.size())] & bits) == bits;
  }

 private:
  static uint64_t Hash(Line line) {
    uint64_t hash = line * 0xff51afd7ed558ccd;
    hash ^= hash >> 32;
    return hash * 0xc4ceb9fe1a85ec53;
  }
  static size_t Word(Line line, size_t words) {
    return static_cast<size_t>((Hash(line) >> 32) * words >> 32);
  }
  // Returns four of the word's bits; some may be the same.
  static uint64_t Bits(Line line) {
    const uint64_t hash = Hash(line);
    return uint64_t{1} << (hash & 63) | uint64_t{1} << (hash >> 6 & 63) |
           uint64_t{1} << (hash >> 12 & 63) | uint64_t{1} << (hash >> 18 & 63);
  }
};

}  // namespace flowback
