// SPDX-License-Identifier: MIT
// Sideband of several buffers comes out in time order, round by round.
#include "capture/formats/input/time_order.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/random.h"

namespace flowback {
namespace {

SidebandRecord At(uint64_t time, int32_t tid = 1) {
  ExitRecord record;
  record.time = time;
  record.tid = tid;
  return record;
}

std::vector<std::pair<uint64_t, int32_t>> Order(TimeOrder order) {
  std::vector<std::pair<uint64_t, int32_t>> result;
  for (const SidebandRecord& record : std::move(order).Take()) {
    const auto& exit = std::get<ExitRecord>(record);
    result.emplace_back(exit.time, exit.tid);
  }
  return result;
}

using Expected = std::vector<std::pair<uint64_t, int32_t>>;

TEST(TimeOrder, BuffersOfOneRoundAreMerged) {
  TimeOrder order;
  for (const uint64_t time : {10, 12, 11, 14}) order.Add(At(time));
  EXPECT_EQ(Order(std::move(order)), (Expected{{10, 1}, {11, 1}, {12, 1}, {14, 1}}));
}

TEST(TimeOrder, RecordsOfOneTimeKeepTheirOrder) {
  TimeOrder order;
  order.Add(At(5, 3));
  order.Add(At(5, 1));
  order.FinishRound();
  order.Add(At(5, 2));
  EXPECT_EQ(Order(std::move(order)), (Expected{{5, 3}, {5, 1}, {5, 2}}));
}

// Only what lies between the first and the last that are out of place is sorted anew.
TEST(TimeOrder, IsTheOrderOfAStableSort) {
  testing::Random random(7);
  for (int round = 0; round < 200; ++round) {
    TimeOrder order;
    Expected expected;
    uint64_t time = 1;
    for (int32_t i = 0; i < 300; ++i) {
      time += random.Below(3);
      const uint64_t back = random.Chance(round) ? random.Below(std::min<uint64_t>(time, 40)) : 0;
      order.Add(At(time - back, i));
      expected.emplace_back(time - back, i);
    }
    std::ranges::stable_sort(expected, {}, &Expected::value_type::first);
    EXPECT_EQ(Order(std::move(order)), expected);
  }
}

// A record may be as old as the newest of the round before, and no older.
TEST(TimeOrder, TheNextRoundMayReachBackIntoTheLast) {
  TimeOrder order;
  order.Add(At(10));
  order.Add(At(14));
  order.FinishRound();
  order.Add(At(16));
  order.Add(At(13));
  order.FinishRound();
  order.Add(At(15));
  EXPECT_EQ(order.late(), 0u);
  EXPECT_EQ(Order(std::move(order)), (Expected{{10, 1}, {13, 1}, {14, 1}, {15, 1}, {16, 1}}));
}

TEST(TimeOrder, ARecordWithoutTimeStandsBeforeWhatIsStillToCome) {
  TimeOrder order;
  order.Add(At(10));
  order.FinishRound();
  order.Add(At(20));
  order.FinishRound();  // 10 is out
  order.Add(At(0, 7));
  order.Add(At(15));
  EXPECT_EQ(Order(std::move(order)), (Expected{{10, 1}, {0, 7}, {15, 1}, {20, 1}}));
}

TEST(TimeOrder, WhatComesAfterItsRoundIsSortedInAndCounted) {
  TimeOrder order;
  order.Add(At(10));
  order.Add(At(20));
  order.FinishRound();
  order.Add(At(0, 7));
  order.Add(At(30));
  order.FinishRound();
  order.Add(At(5));
  EXPECT_EQ(order.late(), 1u);
  EXPECT_EQ(Order(std::move(order)), (Expected{{0, 7}, {5, 1}, {10, 1}, {20, 1}, {30, 1}}));
}

}  // namespace
}  // namespace flowback
