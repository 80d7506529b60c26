// SPDX-License-Identifier: MIT
#include "base/queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

namespace flowback {
namespace {

// Whatever is added and taken in whatever order, it holds what a deque does.
TEST(QueueTest, HoldsWhatADequeDoes) {
  std::mt19937 random(1);
  Queue<int> queue;
  std::deque<int> expected;
  for (int i = 0; i < 20'000; ++i) {
    // Phases of growing and of shrinking.
    if (random() % 8 < (i / 2000 % 2 == 0 ? 5u : 3u) || expected.empty()) {
      queue.push_back(i);
      expected.push_back(i);
    } else {
      const size_t gone = 1 + random() % std::min<size_t>(expected.size(), 4);
      queue.pop_front(gone);
      expected.erase(expected.begin(), expected.begin() + static_cast<ptrdiff_t>(gone));
    }
    ASSERT_EQ(queue.size(), expected.size()) << i;
    ASSERT_EQ(queue.empty(), expected.empty()) << i;
    if (expected.empty()) continue;
    ASSERT_EQ(queue.front(), expected.front()) << i;
    ASSERT_EQ(queue.back(), expected.back()) << i;
    const size_t any = random() % expected.size();
    ASSERT_EQ(queue[any], expected[any]) << i;
  }
}

TEST(QueueTest, ACopyIsOfItsOwn) {
  Queue<int> queue;
  for (int i = 0; i < 40; ++i) queue.push_back(i);
  queue.pop_front(30);
  Queue<int> copy = queue;
  queue.pop_front(10);
  copy.push_back(40);
  EXPECT_TRUE(queue.empty());
  ASSERT_EQ(copy.size(), 11u);
  for (size_t i = 0; i < copy.size(); ++i) EXPECT_EQ(copy[i], 30 + static_cast<int>(i));
}

TEST(QueueTest, IsEmptyWhenCleared) {
  Queue<int> queue;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 20; ++i) queue.Append() = i + round;
    queue.pop_front(5);
    ASSERT_EQ(queue.size(), 15u);
    EXPECT_EQ(queue.front(), 5 + round);
    EXPECT_EQ(queue.back(), 19 + round);
    queue.clear();
    EXPECT_TRUE(queue.empty());
  }
}

}  // namespace
}  // namespace flowback
