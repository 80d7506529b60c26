// SPDX-License-Identifier: MIT
#include "decode/pt/time/reciprocal.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace flowback::pt {
namespace {

// Around each multiple of the divisor, where rounding would show, and around the limit from which
// on it really divides.
TEST(ReciprocalTest, DividesAsDivisionDoes) {
  std::mt19937_64 random(1);
  for (uint64_t divisor = 1; divisor < 4000; ++divisor) {
    const Reciprocal by(divisor);
    const uint64_t limit = ~uint64_t{0} / divisor;
    for (int i = 0; i < 20; ++i) {
      const uint64_t multiple = (random() >> (random() % 64)) / divisor * divisor;
      for (const uint64_t value :
           {multiple - 1, multiple, multiple + 1, limit - 1 - multiple % 3, limit + multiple % 3})
        ASSERT_EQ(by.Divide(value), value / divisor) << value << " / " << divisor;
    }
  }
}

TEST(ReciprocalTest, DividesByLargeNumbers) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t divisor = random() >> (random() % 64) | 1;
    const uint64_t value = random() >> (random() % 64);
    ASSERT_EQ(Reciprocal(divisor).Divide(value), value / divisor) << value << " / " << divisor;
  }
}

TEST(ReciprocalTest, ScalesBeyond64Bits) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t divisor = random() >> (random() % 63) | 1;
    const uint64_t value = random() >> (random() % 64);
    const uint64_t factor = random() >> (random() % 64);
    const auto product = static_cast<unsigned __int128>(value) * factor;
    ASSERT_EQ(Reciprocal(divisor).Scale(value, factor), static_cast<uint64_t>(product / divisor));
  }
}

}  // namespace
}  // namespace flowback::pt
