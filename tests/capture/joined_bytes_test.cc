// SPDX-License-Identifier: MIT
// Bytes joined of parts, and windows over them: what can be read is right, and little is there.
#include "flowback/base/joined_bytes.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <random>
#include <thread>

#include "base/sanitized.h"

namespace flowback {
namespace {

const size_t kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));

std::vector<uint8_t> SomeBytes(size_t size) {
  std::mt19937 random(1);
  std::vector<uint8_t> bytes(size);
  std::ranges::generate(bytes, [&] { return static_cast<uint8_t>(random()); });
  return bytes;
}

// Parts of 0 to `most` bytes.
std::vector<Bytes> Cut(Bytes bytes, size_t most) {
  std::mt19937 random(2);
  std::vector<Bytes> parts;
  while (!bytes.empty()) {
    parts.push_back(bytes.first(std::min<size_t>(random() % (most + 1), bytes.size())));
    bytes = bytes.subspan(parts.back().size());
  }
  return parts;
}

std::shared_ptr<JoinedBytes> Join(Bytes bytes, size_t most_piece, size_t granule, size_t idle) {
  auto joined = std::make_shared<JoinedBytes>(Cut(bytes, most_piece));
  joined->SetLimits({.granule = granule, .idle = idle});
  return joined;
}

TEST(JoinedBytes, NothingIsThereBeforeItIsWanted) {
  const std::vector<uint8_t> bytes = SomeBytes(10 * kPage);
  const auto joined = Join(bytes, 100, kPage, 0);
  EXPECT_EQ(joined->bytes().size(), bytes.size());
  EXPECT_EQ(joined->most_present(), 0u);
  joined->Acquire(3, 5);
  EXPECT_EQ(joined->present(), 2u);
  EXPECT_TRUE(std::ranges::equal(joined->bytes().subspan(3 * kPage, 2 * kPage),
                                 Bytes(bytes).subspan(3 * kPage, 2 * kPage)));
  joined->Release(3, 5);
  EXPECT_EQ(joined->present(), 0u);
}

#if !FLOWBACK_SANITIZED  // they need memory meanwhile
TEST(JoinedBytes, WhereMemoryIsOutNothingIsHeld) {
  const std::vector<uint8_t> bytes = SomeBytes(10 * kPage);
  const auto joined = Join(bytes, 100, kPage, 0);
  joined->Acquire(0, 1);
  rlimit limit{};
  getrlimit(RLIMIT_DATA, &limit);
  const rlimit none{.rlim_cur = kPage, .rlim_max = limit.rlim_max};
  bool thrown = false;
  setrlimit(RLIMIT_DATA, &none);
  try {
    joined->Acquire(0, 3);
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  setrlimit(RLIMIT_DATA, &limit);
  EXPECT_TRUE(thrown);
  EXPECT_EQ(joined->present(), 1u);
  joined->Acquire(0, 3);  // once there is memory again
  EXPECT_EQ(joined->present(), 3u);
  EXPECT_TRUE(std::ranges::equal(joined->bytes().first(3 * kPage), Bytes(bytes).first(3 * kPage)));
  joined->Release(0, 3);
  joined->Release(0, 1);
  EXPECT_EQ(joined->present(), 0u);
}
#endif

TEST(JoinedBytes, PartsOfAnySizeAndNone) {
  for (const size_t size : {size_t{1}, size_t{15}, kPage - 1, kPage, kPage + 1, 5 * kPage + 77}) {
    const std::vector<uint8_t> bytes = SomeBytes(size);
    for (const size_t most : {size_t{1}, size_t{3}, size_t{1000}, 2 * kPage}) {
      const auto joined = Join(bytes, most, kPage, 0);
      StreamWindow window(joined->bytes(), joined);
      window.HoldAll();
      EXPECT_TRUE(std::ranges::equal(joined->bytes(), bytes)) << size << " in pieces to " << most;
    }
  }
  const JoinedBytes none({Bytes(), Bytes()});
  EXPECT_TRUE(none.bytes().empty());
}

TEST(JoinedBytes, WhatNobodyHoldsCannotBeRead) {
  const std::vector<uint8_t> bytes = SomeBytes(4 * kPage);
  const auto joined = Join(bytes, 1000, kPage, 0);
  StreamWindow window(joined->bytes(), joined);
  window.MoveTo(2 * kPage);
  EXPECT_EQ(joined->bytes()[2 * kPage], bytes[2 * kPage]);
  EXPECT_DEATH(testing::Message() << joined->bytes()[kPage], "");
  window.MoveTo(kPage);
  EXPECT_EQ(joined->bytes()[kPage], bytes[kPage]);
  EXPECT_DEATH(testing::Message() << joined->bytes()[3 * kPage], "");
}

TEST(JoinedBytes, OtherUsersKeepWhatOneGivesBack) {
  const std::vector<uint8_t> bytes = SomeBytes(4 * kPage);
  const auto joined = Join(bytes, 1000, kPage, 0);
  joined->Acquire(0, 3);
  joined->Acquire(1, 2);
  joined->Release(0, 3);
  EXPECT_EQ(joined->present(), 1u);
  EXPECT_EQ(joined->bytes()[kPage], bytes[kPage]);
  joined->Release(1, 2);
  EXPECT_EQ(joined->present(), 0u);
}

TEST(JoinedBytes, IdleOnesStayTheOldestGoesFirst) {
  const std::vector<uint8_t> bytes = SomeBytes(8 * kPage);
  const auto joined = Join(bytes, 1000, kPage, 2);
  for (size_t i = 0; i < 3; ++i) {
    joined->Acquire(i, i + 1);
    joined->Release(i, i + 1);
  }
  EXPECT_EQ(joined->present(), 2u);
  joined->Acquire(1, 2);  // is there still
  EXPECT_EQ(joined->most_present(), 3u);
  EXPECT_EQ(joined->present(), 2u);
  EXPECT_EQ(joined->bytes()[kPage], bytes[kPage]);
  joined->Release(1, 2);
}

TEST(StreamWindow, AllBytesInPassing) {
  const std::vector<uint8_t> bytes = SomeBytes(50 * kPage + 13);
  const auto joined = Join(bytes, 700, kPage, 1);
  for (const size_t step : {size_t{1}, size_t{17}, 3 * kPage}) {
    StreamWindow window(joined->bytes(), joined);
    for (size_t at = 0; at < bytes.size(); at += step) {
      window.MoveTo(at);
      const size_t ahead = std::min(StreamWindow::kAhead, bytes.size() - at);
      ASSERT_GE(window.end(), at + ahead);
      ASSERT_TRUE(
          std::ranges::equal(window.bytes().subspan(at, ahead), Bytes(bytes).subspan(at, ahead)));
    }
  }
  // Two at a border and one idle, and for a moment those of the step before.
  EXPECT_LE(joined->most_present(), 5u);
}

TEST(StreamWindow, ReachKeepsWhatIsBehind) {
  const std::vector<uint8_t> bytes = SomeBytes(6 * kPage);
  const auto joined = Join(bytes, 700, kPage, 0);
  StreamWindow window(joined->bytes(), joined);
  window.MoveTo(10);
  window.Reach(4 * kPage);
  EXPECT_TRUE(std::ranges::equal(window.bytes().subspan(10, 4 * kPage),
                                 Bytes(bytes).subspan(10, 4 * kPage)));
  EXPECT_EQ(joined->present(), 5u);
  window.MoveTo(5 * kPage);
  EXPECT_EQ(joined->present(), 1u);
}

TEST(StreamWindow, PartOfTheJoined) {
  const std::vector<uint8_t> bytes = SomeBytes(6 * kPage);
  const auto joined = Join(bytes, 700, kPage, 0);
  for (const size_t skew : {size_t{1}, kPage - 5, 2 * kPage}) {
    const Bytes part = joined->bytes().subspan(skew, 3 * kPage);
    StreamWindow window(part, joined);
    for (size_t at = 0; at < part.size(); ++at) {
      window.MoveTo(at);
      ASSERT_EQ(part[at], bytes[skew + at]);
    }
    std::array<uint8_t, 100> copy{};
    EXPECT_EQ(window.Copy(part.size() - 40, copy), 40u);
    EXPECT_TRUE(std::ranges::equal(Bytes(copy).first(40),
                                   Bytes(bytes).subspan(skew + part.size() - 40, 40)));
  }
}

TEST(StreamWindow, WithoutJoinedBytesItIsNothing) {
  const std::vector<uint8_t> bytes = SomeBytes(1000);
  StreamWindow window(bytes);
  window.MoveTo(999);
  window.MoveTo(0);
  EXPECT_EQ(window.end(), bytes.size());
  EXPECT_EQ(window.reach(), bytes.size());
  EXPECT_TRUE(window.is_everything());
}

TEST(StreamWindow, ManyThreads) {
  const std::vector<uint8_t> bytes = SomeBytes(64 * kPage);
  const auto joined = Join(bytes, 3000, kPage, 3);
  constexpr size_t kThreads = 4;
  std::atomic<size_t> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (unsigned seed = 0; seed < kThreads; ++seed)
      threads.emplace_back([&, seed] {
        std::mt19937 random(seed);
        StreamWindow window(joined->bytes(), joined);
        for (int i = 0; i < 2000; ++i) {
          const size_t at = random() % bytes.size();
          window.MoveTo(at);
          wrong += window.bytes()[at] != bytes[at];
        }
      });
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_LE(joined->most_present(), 4 * kThreads + 3 + 1);
  EXPECT_EQ(joined->present(), 3u);
}

}  // namespace
}  // namespace flowback
