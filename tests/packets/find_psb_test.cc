// SPDX-License-Identifier: MIT
// FindPsb against the obvious search.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "decode/pt/packets/psb.h"

namespace flowback::pt {
namespace {

size_t Obvious(const std::vector<uint8_t>& bytes, size_t from) {
  if (from >= bytes.size()) return bytes.size();
  const auto& pattern = Psb::kPattern;
  auto hit = std::search(bytes.begin() + from, bytes.end(), pattern.begin(), pattern.end());
  // In a longer run of 02 82 the last 16 bytes are the PSB.
  while (bytes.end() - hit >= 18 && std::equal(hit + 16, hit + 18, pattern.begin())) hit += 2;
  return hit - bytes.begin();
}

void ExpectSame(const std::vector<uint8_t>& bytes) {
  for (size_t from = 0; from <= bytes.size() + 1; ++from)
    ASSERT_EQ(FindPsb(bytes, from), Obvious(bytes, from)) << "from " << from;
}

TEST(FindPsb, AnyPlaceInAnySize) {
  for (size_t size = 0; size < 200; size += 7) {
    for (size_t at = 0; at + 16 <= size; ++at) {
      std::vector<uint8_t> bytes(size, 0);
      std::copy(Psb::kPattern.begin(), Psb::kPattern.end(), bytes.begin() + at);
      ASSERT_EQ(FindPsb(bytes, 0), at);
    }
  }
}

TEST(FindPsb, LongRunsOfThePattern) {
  std::vector<uint8_t> bytes;
  for (int i = 0; i < 150; ++i) bytes.push_back(i % 2 == 0 ? 0x02 : 0x82);
  ExpectSame(bytes);
  bytes.insert(bytes.begin(), 0x82);
  ExpectSame(bytes);
}

TEST(FindPsb, BrokenPatternsAreNone) {
  for (size_t broken = 0; broken < 16; ++broken) {
    std::vector<uint8_t> bytes(100, 0x55);
    std::copy(Psb::kPattern.begin(), Psb::kPattern.end(), bytes.begin() + 40);
    bytes[40 + broken] ^= 0x10;
    EXPECT_EQ(FindPsb(bytes, 0), bytes.size());
  }
  const std::vector<uint8_t> cut(Psb::kPattern.begin(), Psb::kPattern.end() - 1);
  EXPECT_EQ(FindPsb(cut, 0), cut.size());
}

TEST(FindPsb, RandomPiecesOfThePattern) {
  std::mt19937 random(11);
  for (int round = 0; round < 100; ++round) {
    std::vector<uint8_t> bytes;
    while (bytes.size() < 300) {
      const size_t run = random() % 24;
      for (size_t i = 0; i < run; ++i) bytes.push_back(i % 2 == 0 ? 0x02 : 0x82);
      if (random() % 2 == 0) bytes.push_back(static_cast<uint8_t>(random()));
    }
    ExpectSame(bytes);
  }
}

}  // namespace
}  // namespace flowback::pt
