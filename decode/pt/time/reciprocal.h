// SPDX-License-Identifier: MIT
// Division by the same number again and again, as a multiplication: a division takes some ten times
// as long, and with CYC packets there would be half a dozen for each packet.
//
// With factor = ceil(2^64 / divisor), value * factor / 2^64 is too large by less than
// value * divisor / 2^64 / divisor. So rounded down it is exact as long as value * divisor < 2^64.
#pragma once

#include <cstdint>

namespace flowback::pt {

class Reciprocal {
 public:
  Reciprocal() = default;
  // REQUIRES: not 0.
  explicit constexpr Reciprocal(uint64_t divisor)
      : divisor_(divisor),
        factor_(divisor == 1 ? 0 : ~uint64_t{0} / divisor + 1),
        limit_(divisor == 1 ? 0 : ~uint64_t{0} / divisor) {}

  // value / divisor, rounded down.
  uint64_t Divide(uint64_t value) const {
    if (value >= limit_) [[unlikely]]
      return value / divisor_;
    return DivideExact(value);
  }
  // Whether DivideExact may be asked for value * factor, and so for all that are no larger.
  constexpr bool IsExactFor(uint64_t value, uint64_t factor) const {
    uint64_t product;
    return !__builtin_mul_overflow(value, factor, &product) && product < limit_;
  }
  // Divide without looking whether that is exact.
  uint64_t DivideExact(uint64_t value) const {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(value) * factor_ >> 64);
  }
  // value * factor / divisor, rounded down.
  uint64_t Scale(uint64_t value, uint64_t factor) const {
    uint64_t product;
    if (!__builtin_mul_overflow(value, factor, &product)) [[likely]]
      return Divide(product);
    return static_cast<uint64_t>(static_cast<unsigned __int128>(value) * factor / divisor_);
  }

 private:
  uint64_t divisor_ = 1;
  uint64_t factor_ = 0;
  uint64_t limit_ = 0;  // below it multiplying is exact
};

}  // namespace flowback::pt
