// SPDX-License-Identifier: MIT
#include "base/zeroed_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace flowback {
namespace {

struct alignas(64) Line {
  uint64_t words[8];
};

TEST(ZeroedPool, ArraysAreZeroAlignedAndApart) {
  ZeroedPool pool(ZeroedPool::SizeOf<uint8_t>(3) + ZeroedPool::SizeOf<Line>(1000));
  uint8_t* bytes = pool.Take<uint8_t>(3);
  Line* lines = pool.Take<Line>(1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(lines) % alignof(Line), 0u);
  EXPECT_GE(reinterpret_cast<uint8_t*>(lines), bytes + 3);
  std::fill_n(bytes, 3, uint8_t{0xff});
  for (size_t i = 0; i < 1000; ++i)
    for (const uint64_t word : lines[i].words) ASSERT_EQ(word, 0u) << "line " << i;
}

TEST(ZeroedPool, BecomingResidentKeepsWhatIsThere) {
  constexpr size_t kWords = 1 << 20;
  ZeroedPool pool(ZeroedPool::SizeOf<uint64_t>(kWords));
  uint64_t* words = pool.Take<uint64_t>(kWords);
  for (size_t i = 0; i < kWords; i += 5000) words[i] = i + 1;
  pool.MakeResident();
  for (size_t i = 0; i < kWords; ++i) ASSERT_EQ(words[i], i % 5000 == 0 ? i + 1 : 0) << i;
}

}  // namespace
}  // namespace flowback
