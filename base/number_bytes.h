// SPDX-License-Identifier: MIT
// Numbers as bytes in which small ones are short: seven bits to a byte, the lowest first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "flowback/base/bytes.h"

namespace flowback {

class NumberWriter {
 public:
  void Number(uint64_t number) {
    for (; number >= 0x80; number >>= 7) bytes_.push_back(static_cast<uint8_t>(number | 0x80));
    bytes_.push_back(static_cast<uint8_t>(number));
  }
  // How far `number` lies from `base`, modulo 2^64, with the sign in the lowest bit.
  void Distance(uint64_t base, uint64_t number) {
    const uint64_t distance = number - base;
    Number(distance << 1 ^ (distance >> 63 != 0 ? ~uint64_t{0} : 0));
  }
  // Always writes eight bytes: for numbers that are seldom small.
  void Word(uint64_t word) {
    for (int i = 0; i < 8; ++i, word >>= 8) bytes_.push_back(static_cast<uint8_t>(word));
  }
  // With their number before them.
  void Block(Bytes bytes) {
    Number(bytes.size());
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  const std::vector<uint8_t>& bytes() const { return bytes_; }
  std::vector<uint8_t> Take() { return std::exchange(bytes_, {}); }

 private:
  std::vector<uint8_t> bytes_;
};

// Reads what a NumberWriter wrote. Where other bytes make no sense it fails: from then on it gives
// zeros.
class NumberReader {
 public:
  explicit NumberReader(Bytes bytes) : rest_(bytes) {}

  uint64_t Number() {
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const uint8_t byte = rest_.front();
      rest_ = rest_.subspan(1);
      number |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return number;
    }
    Fail();
    return 0;
  }
  uint64_t Distance(uint64_t base) {
    const uint64_t distance = Number();
    return base + (distance >> 1 ^ ((distance & 1) != 0 ? ~uint64_t{0} : 0));
  }
  uint64_t Word() {
    if (rest_.size() < 8) {
      Fail();
      return 0;
    }
    const uint64_t word = LoadLittleEndian(rest_.data(), 8);
    rest_ = rest_.subspan(8);
    return word;
  }
  // Returns how many items follow. Each takes at least a byte, so a count larger than the bytes
  // left is an error.
  size_t Count() { return AsCount(Number()); }
  Bytes Block() {
    const size_t size = Count();
    const Bytes block = rest_.first(size);
    rest_ = rest_.subspan(size);
    return block;
  }
  void Fail() {
    ok_ = false;
    rest_ = {};
  }
  bool ok() const { return ok_; }
  // All has been read, and all of it made sense.
  bool Done() const { return ok_ && rest_.empty(); }

 protected:
  size_t AsCount(uint64_t count) {
    if (count <= rest_.size()) return static_cast<size_t>(count);
    Fail();
    return 0;
  }

 private:
  Bytes rest_;
  bool ok_ = true;
};

}  // namespace flowback
