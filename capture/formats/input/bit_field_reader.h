// SPDX-License-Identifier: MIT
// The bit fields that a C compiler laid out in a word, from the first on.
#pragma once

#include <cstdint>

#include "capture/formats/input/field_reader.h"

namespace flowback {

// A big-endian compiler gives a word's highest bits to the first fields.
class BitFieldReader {
 public:
  BitFieldReader(uint64_t word, ByteOrder order) : word_(word), order_(order) {}

  // REQUIRES: at least `bits` bits are left; bits < 64.
  uint64_t Take(unsigned bits) {
    const unsigned shift = order_ == ByteOrder::kLittle ? at_ : 64 - at_ - bits;
    at_ += bits;
    return word_ >> shift & ((uint64_t{1} << bits) - 1);
  }

 private:
  uint64_t word_;
  ByteOrder order_;
  unsigned at_ = 0;
};

}  // namespace flowback
