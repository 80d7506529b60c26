// SPDX-License-Identifier: MIT
// Who held what others waited for.
#include "replay/locks/lock_holders.h"

#include <gtest/gtest.h>

namespace flowback::test {
namespace {

constexpr std::string_view kMutex = "mutex";

class LockHoldersTest : public testing::Test {
 protected:
  explicit LockHoldersTest(size_t threads = 3) {
    for (size_t i = 0; i < threads; ++i) {
      LockThread& thread = report_.threads.emplace_back();
      thread.pid = 100;
      thread.tid = 100 + static_cast<int32_t>(i);
      thread.end = 1000;
    }
    report_.sites.resize(1);
  }
  void Hold(uint32_t thread, uint64_t begin, uint64_t end) {
    holders_.OnAcquired(thread, kMutex, 0, begin, false);
    holders_.OnReleased(thread, kMutex, end);
  }
  LockWait Wait(uint32_t thread, uint64_t begin, uint64_t end,
                WaitState state = WaitState::kWhole) {
    LockWait wait;
    wait.thread = thread;
    wait.position = begin;
    wait.state = state;
    wait.begin = TimePoint::Exact(begin);
    wait.end = TimePoint::Exact(end);
    holders_.OnWait(wait, kMutex);
    (state == WaitState::kCutByEnd ? report_.open : report_.worst).push_back(wait);
    return wait;
  }
  const LockReport& Tell(bool proves = true) {
    for (uint32_t i = 0; i < report_.threads.size(); ++i) holders_.OnThreadEnd(i, 1000);
    holders_.Tell(proves, report_);
    return report_;
  }

  LockHolders holders_;
  LockReport report_;
};

// By the addresses of what is held and what is waited for.
class LocksWithAddresses : public LockHoldersTest {
 protected:
  void HoldAt(uint32_t thread, uint64_t address, uint64_t begin, uint64_t end,
              bool likely = false) {
    holders_.OnAcquired(thread, kMutex, 0, begin, likely, address);
    holders_.OnReleased(thread, kMutex, end, address);
  }
  void WaitAt(uint32_t thread, uint64_t address, uint64_t begin, uint64_t end) {
    LockWait wait;
    wait.thread = thread;
    wait.position = begin;
    wait.begin = TimePoint::Exact(begin);
    wait.end = TimePoint::Exact(end);
    wait.address = address;
    holders_.OnWait(wait, kMutex);
    report_.worst.push_back(wait);
  }
};

TEST_F(LocksWithAddresses, AThreadWithAnotherLockIsNoCandidate) {
  HoldAt(0, 0x1000, 100, 300);
  HoldAt(2, 0x1040, 100, 400);
  WaitAt(1, 0x1000, 150, 400);
  const LockReport& report = Tell();
  ASSERT_EQ(report.holders.size(), 1u);
  EXPECT_EQ(report.holders[0].thread, 0u);
  EXPECT_EQ(report.holders[0].time, 150u);
  EXPECT_EQ(report.holders[0].certain, 150u);
}

TEST_F(LocksWithAddresses, TheVeryLockIsCertainWhenItIsAcquiredLater) {
  HoldAt(2, 0, 100, 400);
  HoldAt(0, 0x1000, 200, 300);
  WaitAt(1, 0x1000, 90, 300);
  const LockReport& report = Tell();
  ASSERT_EQ(report.holders.size(), 2u);
  EXPECT_EQ(report.holders[0].thread, 0u);
  EXPECT_EQ(report.holders[0].certain, 100u);
  EXPECT_EQ(report.holders[1].time, 100u);
  EXPECT_EQ(report.holders[1].certain, 0u);
}

TEST_F(LocksWithAddresses, LocksAreReleasedByTheirAddresses) {
  holders_.OnAcquired(0, kMutex, 0, 100, false, 0x1000);
  holders_.OnAcquired(0, kMutex, 0, 110, false, 0x1040);
  holders_.OnReleased(0, kMutex, 200, 0x1000);
  holders_.OnReleased(0, kMutex, 300, 0x1040);
  WaitAt(1, 0x1000, 150, 400);
  EXPECT_EQ(Tell().holders.at(0).time, 50u);
}

TEST_F(LockHoldersTest, TheOnlyOneIsCertain) {
  Hold(0, 100, 300);
  Wait(1, 150, 320);
  const LockReport& report = Tell();
  ASSERT_EQ(report.holders.size(), 1u);
  EXPECT_EQ(report.holders[0].thread, 0u);
  EXPECT_EQ(report.holders[0].time, 150u);
  EXPECT_EQ(report.holders[0].certain, 150u);
  EXPECT_EQ(report.holders[0].waits, 1u);
  EXPECT_EQ(report.worst[0].holder, 0u);
  EXPECT_TRUE(report.worst[0].is_certain);
}

TEST_F(LockHoldersTest, OneOfTwoIsNotCertain) {
  Hold(0, 100, 300);
  Hold(2, 120, 250);
  Wait(1, 150, 320);
  const LockReport& report = Tell();
  ASSERT_EQ(report.holders.size(), 2u);
  EXPECT_EQ(report.holders[0].time, 150u);
  EXPECT_EQ(report.holders[0].certain, 0u);
  EXPECT_EQ(report.holders[1].time, 100u);
  EXPECT_EQ(report.holders[1].certain, 0u);
  EXPECT_FALSE(report.worst[0].is_certain);
}

// What thread 2 acquires while thread 1 waits already is something else.
TEST_F(LockHoldersTest, WhoComesLaterDoesNotHoldIt) {
  Hold(0, 100, 300);
  Hold(2, 200, 250);
  Wait(1, 150, 320);
  const LockReport& report = Tell();
  ASSERT_EQ(report.holders.size(), 1u);
  EXPECT_EQ(report.holders[0].certain, 150u);
}

// When the holder has released it, nothing tells how soon the thread that waits is woken.
TEST_F(LockHoldersTest, NobodyIsCertainAfterTheRelease) {
  Hold(0, 100, 200);
  Hold(2, 150, 300);
  Wait(1, 140, 300);
  const LockReport& report = Tell();
  ASSERT_EQ(report.holders.size(), 2u);
  EXPECT_EQ(report.holders[0].thread, 2u);
  EXPECT_EQ(report.holders[0].time, 100u);
  EXPECT_EQ(report.holders[0].certain, 0u);
  EXPECT_EQ(report.holders[1].certain, 60u);
}

TEST_F(LockHoldersTest, WhoNeverReleasesIsNotTold) {
  for (uint64_t i = 0; i < 100; ++i) holders_.OnAcquired(0, kMutex, 0, i, false);
  Wait(1, 150, 320);
  EXPECT_TRUE(Tell().holders.empty());
}

TEST_F(LockHoldersTest, NothingIsCertainBehindLosses) {
  Hold(0, 100, 300);
  Wait(1, 150, 320);
  EXPECT_EQ(Tell(false).holders.at(0).certain, 0u);
}

TEST_F(LockHoldersTest, AnotherProcessHoldsNothing) {
  report_.threads[0].pid = 7;
  Hold(0, 100, 300);
  Wait(1, 150, 320);
  EXPECT_TRUE(Tell().holders.empty());
}

TEST_F(LockHoldersTest, NobodyWaitsForItself) {
  Hold(1, 100, 300);
  Wait(1, 150, 320);
  EXPECT_TRUE(Tell().holders.empty());
}

TEST_F(LockHoldersTest, TwoThatWaitForEachOtherAreACycle) {
  holders_.OnAcquired(0, kMutex, 0, 100, false);
  holders_.OnAcquired(1, kMutex, 0, 110, false);
  Wait(0, 200, 1000, WaitState::kCutByEnd);
  Wait(1, 210, 1000, WaitState::kCutByEnd);
  const LockReport& report = Tell();
  ASSERT_EQ(report.cycles.size(), 1u);
  EXPECT_EQ(report.cycles[0].waits, (std::vector<uint32_t>{0, 1}));
}

// Thread 2 held something, too, when they began to wait.
TEST_F(LockHoldersTest, OnlyWhoStillHoldsCountsInTheEnd) {
  holders_.OnAcquired(0, kMutex, 0, 100, false);
  holders_.OnAcquired(1, kMutex, 0, 110, false);
  Hold(2, 120, 500);
  Wait(0, 200, 1000, WaitState::kCutByEnd);
  Wait(1, 210, 1000, WaitState::kCutByEnd);
  ASSERT_EQ(Tell().cycles.size(), 1u);
}

TEST_F(LockHoldersTest, OneThatWaitsForTheCycleIsNotInIt) {
  holders_.OnAcquired(0, kMutex, 0, 100, false);
  holders_.OnAcquired(1, kMutex, 0, 110, false);
  Wait(0, 200, 1000, WaitState::kCutByEnd);
  Wait(1, 210, 1000, WaitState::kCutByEnd);
  Wait(2, 220, 1000, WaitState::kCutByEnd);  // for one of them
  ASSERT_EQ(Tell().cycles.size(), 1u);
  EXPECT_EQ(report_.cycles[0].waits.size(), 2u);
}

TEST_F(LockHoldersTest, AWaitForOneThatGoesOnIsNoCycle) {
  holders_.OnAcquired(0, kMutex, 0, 100, false);
  Wait(1, 210, 1000, WaitState::kCutByEnd);
  EXPECT_TRUE(Tell().cycles.empty());
}

}  // namespace
}  // namespace flowback::test
