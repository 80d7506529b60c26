// SPDX-License-Identifier: MIT
// The holders of locks that others waited for.
#include "replay/locks/holders/lock_holders.h"

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
    Acquire(thread, begin);
    Release(thread, end, end);
  }
  void Acquire(uint32_t thread, uint64_t time, bool likely = false) {
    holders_.OnAcquired(
        thread, {.site = 0, .family = kMutex, .earliest = time, .time = time, .likely = likely});
  }
  void Release(uint32_t thread, uint64_t begin, uint64_t end) {
    holders_.OnReleasing(thread, kMutex, TimePoint::Exact(begin));
    holders_.OnReleased(thread, kMutex, end);
  }
  uint32_t Call(uint32_t parent, uint32_t function) {
    return report_.paths.Find(
        {.parent = parent, .kind = PathKind::kCall, .function = function, .site = function});
  }
  // `about`: how far its begin may be from `begin`.
  LockWait Wait(uint32_t thread, uint64_t begin, uint64_t end, WaitState state = WaitState::kWhole,
                uint64_t about = 0) {
    LockWait wait;
    wait.thread = thread;
    wait.position = begin;
    wait.state = state;
    wait.begin = {.time = begin, .lo = begin - about, .hi = begin + about};
    wait.end = TimePoint::Exact(end);
    holders_.OnWait(wait, kMutex);
    (state == WaitState::kCutByEnd ? report_.open : report_.worst).push_back(wait);
    return wait;
  }
  const LockReport& Tell(bool proves = true) {
    for (uint32_t i = 0; i < report_.threads.size(); ++i) holders_.OnThreadEnd(i, 1000);
    TimeAway away(recording_, accounts_);
    holders_.Tell(proves, away, report_);
    return report_;
  }

  Recording recording_;
  std::vector<const TimeAccount*> accounts_ = std::vector<const TimeAccount*>(3);
  LockReport report_;
  LockHolders holders_{report_.paths};
};

// By the addresses of what is held and what is waited for.
class LocksWithAddresses : public LockHoldersTest {
 protected:
  void HoldAt(uint32_t thread, uint64_t address, uint64_t begin, uint64_t end,
              bool likely = false) {
    AcquireAt(thread, address, begin, likely);
    ReleaseAt(thread, address, end);
  }
  void AcquireAt(uint32_t thread, uint64_t address, uint64_t time, bool likely = false) {
    holders_.OnAcquired(thread, {.site = 0,
                                 .family = kMutex,
                                 .earliest = time,
                                 .time = time,
                                 .address = address,
                                 .likely = likely});
  }
  void ReleaseAt(uint32_t thread, uint64_t address, uint64_t time) {
    holders_.OnReleasing(thread, kMutex, TimePoint::Exact(time), address);
    holders_.OnReleased(thread, kMutex, time);
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

// Thread 2 may read under the same lock.
TEST_F(LocksWithAddresses, WhoReadsUnderALockIsNotAlone) {
  for (const auto& [thread, address] : {std::pair(0u, 0x1000u), std::pair(2u, 0u)})
    holders_.OnAcquired(
        thread, {.site = 0, .family = "rwlock", .earliest = 100, .time = 100, .address = address});
  LockWait wait;
  wait.thread = 1;
  wait.begin = TimePoint::Exact(150);
  wait.end = TimePoint::Exact(300);
  wait.address = 0x1000;
  holders_.OnWait(wait, "rwlock");
  EXPECT_EQ(Tell().holders.at(0).certain, 0u);
}

// However often thread 2 tries in vain to acquire another lock.
TEST_F(LocksWithAddresses, ManyTriesInVainLeaveItCertain) {
  for (uint64_t i = 0; i < 200; ++i) AcquireAt(2, 0x1040, i, true);
  HoldAt(0, 0x1000, 210, 300);
  WaitAt(1, 0x1000, 220, 400);
  EXPECT_EQ(Tell().holders.at(0).certain, 80u);
}

// Its other tries do not matter.
TEST_F(LocksWithAddresses, TheVeryLockIsCertainBesideTriesInVain) {
  for (uint64_t i = 0; i < 200; ++i) AcquireAt(0, 0, i, true);
  HoldAt(0, 0x1000, 210, 300);
  WaitAt(1, 0x1000, 220, 400);
  EXPECT_EQ(Tell().holders.at(0).certain, 80u);
}

// The one that it released was one of two.
TEST_F(LocksWithAddresses, WhoTriedTwiceMayHoldItYet) {
  AcquireAt(2, 0x1000, 100, true);
  AcquireAt(2, 0x1000, 110, true);
  ReleaseAt(2, 0x1000, 120);
  HoldAt(0, 0, 130, 300);  // which lock that is is not known
  WaitAt(1, 0x1000, 140, 300);
  EXPECT_EQ(Tell().holders.at(0).certain, 0u);
}

TEST_F(LocksWithAddresses, LocksAreReleasedByTheirAddresses) {
  AcquireAt(0, 0x1000, 100);
  AcquireAt(0, 0x1040, 110);
  ReleaseAt(0, 0x1000, 200);
  ReleaseAt(0, 0x1040, 300);
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

// When the holder has released it, it is unknown how soon the waiting thread is woken.
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
  for (uint64_t i = 0; i < 100; ++i) Acquire(0, i);
  Wait(1, 150, 320);
  EXPECT_TRUE(Tell().holders.empty());
}

// Thread 2 may have what it waits for already, and has not returned from the function.
TEST_F(LockHoldersTest, WhoIsAcquiringMayHoldIt) {
  Hold(0, 100, 300);
  holders_.OnAcquired(2, {.site = 0, .family = kMutex, .earliest = 140, .time = 160});
  Release(2, 170, 170);
  Wait(1, 150, 320);
  EXPECT_EQ(Tell().holders.at(0).certain, 0u);
}

// The same holds once it has begun to release it.
TEST_F(LockHoldersTest, WhoIsReleasingMayHoldIt) {
  Hold(0, 100, 300);
  Acquire(2, 110);
  Release(2, 140, 160);
  Wait(1, 150, 320);
  EXPECT_EQ(Tell().holders.at(0).certain, 0u);
}

// It may have begun before thread 2 released what it held.
TEST_F(LockHoldersTest, AWaitWithoutAnExactBeginMayBeForEither) {
  Hold(0, 100, 300);
  Hold(2, 110, 140);
  Wait(1, 150, 320, WaitState::kWhole, 20);
  EXPECT_EQ(Tell().holders.at(0).certain, 0u);
}

TEST_F(LockHoldersTest, ThatAThreadTriedIsNotCertain) {
  Acquire(0, 100, true);
  Wait(1, 150, 320);
  const LockReport& report = Tell();
  ASSERT_EQ(report.holders.size(), 1u);
  EXPECT_EQ(report.holders[0].certain, 0u);
}

TEST_F(LockHoldersTest, WhatAThreadTriedAndReleasesItHeld) {
  Acquire(0, 100, true);
  Release(0, 300, 300);
  Wait(1, 150, 320);
  EXPECT_EQ(Tell().holders.at(0).certain, 150u);
}

// The one that tries in vain may be the holder by the flow, but has no share.
TEST_F(LockHoldersTest, WhoTriesInVainIsNoHolder) {
  Hold(0, 100, 300);
  Acquire(2, 120, true);
  Wait(1, 150, 320);
  const LockReport& report = Tell();
  ASSERT_EQ(report.holders.size(), 1u);
  EXPECT_EQ(report.holders[0].thread, 0u);
  EXPECT_EQ(report.holders[0].certain, 0u);
}

TEST_F(LockHoldersTest, ManyTriesInVainHideNoHolder) {
  for (uint64_t i = 0; i < 200; ++i) Acquire(2, i, true);
  Acquire(0, 250);
  Release(0, 300, 300);
  Wait(1, 260, 320);
  EXPECT_EQ(Tell().holders.at(0).time, 40u);
}

// Of the two that it has, it may have released either.
TEST_F(LockHoldersTest, WhatIsLeftBesideATryIsNotCertain) {
  Acquire(0, 100);
  Acquire(0, 110, true);
  Release(0, 120, 120);
  Wait(1, 150, 1000, WaitState::kCutByEnd);
  const LockReport& report = Tell();
  EXPECT_EQ(report.open.at(0).holder, 0u);
  EXPECT_FALSE(report.open.at(0).is_certain);
}

TEST_F(LockHoldersTest, ADeadlockIsNoGuess) {
  Acquire(0, 100, true);
  Acquire(1, 110);
  Wait(0, 200, 1000, WaitState::kCutByEnd);
  Wait(1, 210, 1000, WaitState::kCutByEnd);
  EXPECT_TRUE(Tell().cycles.empty());
}

TEST_F(LockHoldersTest, TellsInWhichCallTheHolderWas) {
  const uint32_t outer = Call(PathTree::kRoot, 1);
  const uint32_t middle = Call(outer, 2);
  const uint32_t brief = Call(middle, 3);
  const uint32_t lengthy = Call(middle, 4);
  Acquire(0, 100);
  holders_.OnDoing(0, outer, 0, 100);
  holders_.OnDoing(0, middle, 1, 140);
  holders_.OnDoing(0, brief, 2, 160);
  holders_.OnDoing(0, lengthy, 2, 190);
  holders_.OnDoing(0, outer, 0, 280);
  Release(0, 300, 300);
  Wait(1, 150, 320);
  EXPECT_EQ(Tell().holders.at(0).path, lengthy);
}

// Its work before others wait is left out, and of many calls the outer ones are kept.
TEST_F(LockHoldersTest, TellsTheOuterCallOfVeryMany) {
  const uint32_t outer = Call(PathTree::kRoot, 1);
  const uint32_t before = Call(outer, 2);
  const uint32_t middle = Call(outer, 3);
  Acquire(0, 100);
  holders_.OnDoing(0, before, 1, 100);
  for (uint32_t i = 0; i < 800; ++i) holders_.OnDoing(0, Call(middle, 10 + i % 7), 2, 110 + i);
  EXPECT_LT(holders_.followed(), 4u);
  Release(0, 900, 900);
  Wait(1, 150, 920);
  EXPECT_EQ(Tell().holders.at(0).path, middle);
}

TEST_F(LockHoldersTest, TellsThatTheHolderWaitedItself) {
  Hold(0, 100, 300);
  Wait(1, 150, 320);
  LockWait own;
  own.site = 0;
  own.thread = 0;
  own.begin = TimePoint::Exact(160);
  own.end = TimePoint::Exact(260);
  holders_.OnWait(own, {});
  const LockReport& report = Tell();
  EXPECT_EQ(report.holders.at(0).waiting, 100u);
  EXPECT_EQ(report.holders.at(0).waits_at, 0u);
}

// It was off the CPU from 180 to 220 as another thread ran, and from 250 to 260 by its own will.
TEST_F(LockHoldersTest, TellsThatTheHolderWasPreempted) {
  TimeAccount account;
  account.tid = 100;
  account.end = 1000;
  account.spans.emplace();
  const auto away = [&](uint64_t begin, uint64_t end, bool preempted) {
    account.spans->spans.push_back({.kind = TimeClass::kOffCpu,
                                    .begin = begin,
                                    .begin_lo = begin - 2,
                                    .begin_hi = begin + 2,
                                    .end = end,
                                    .end_lo = end,
                                    .end_hi = end});
    SwitchRecord left;
    left.tid = 100;
    left.time = begin + 1;
    left.out = true;
    left.preempted = preempted;
    recording_.sideband.emplace_back(left);
  };
  away(180, 220, true);
  away(250, 260, false);
  accounts_[0] = &account;
  Hold(0, 100, 300);
  Wait(1, 150, 320);
  const LockReport& report = Tell();
  EXPECT_EQ(report.holders.at(0).off_cpu, 50u);
  EXPECT_EQ(report.holders.at(0).preempted, 40u);
}

// Two threads wait for one that waits itself.
TEST_F(LockHoldersTest, TellsHowManyWaitInAConvoy) {
  Hold(0, 100, 300);
  Wait(1, 150, 320);
  Wait(2, 200, 320);
  LockWait own;
  own.thread = 0;
  own.begin = TimePoint::Exact(160);
  own.end = TimePoint::Exact(260);
  holders_.OnWait(own, {});
  EXPECT_EQ(Tell().holders.at(0).convoy, 2u);
}

TEST_F(LockHoldersTest, OneThatGoesOnLeadsNoConvoy) {
  Hold(0, 100, 300);
  Wait(1, 150, 320);
  Wait(2, 200, 320);
  EXPECT_EQ(Tell().holders.at(0).convoy, 0u);
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
  Acquire(0, 100);
  Acquire(1, 110);
  Wait(0, 200, 1000, WaitState::kCutByEnd);
  Wait(1, 210, 1000, WaitState::kCutByEnd);
  const LockReport& report = Tell();
  ASSERT_EQ(report.cycles.size(), 1u);
  EXPECT_EQ(report.cycles[0].waits, (std::vector<uint32_t>{0, 1}));
}

// Thread 2 held something, too, when they began to wait.
TEST_F(LockHoldersTest, OnlyWhoStillHoldsCountsInTheEnd) {
  Acquire(0, 100);
  Acquire(1, 110);
  Hold(2, 120, 500);
  Wait(0, 200, 1000, WaitState::kCutByEnd);
  Wait(1, 210, 1000, WaitState::kCutByEnd);
  ASSERT_EQ(Tell().cycles.size(), 1u);
}

TEST_F(LockHoldersTest, OneThatWaitsForTheCycleIsNotInIt) {
  Acquire(0, 100);
  Acquire(1, 110);
  Wait(0, 200, 1000, WaitState::kCutByEnd);
  Wait(1, 210, 1000, WaitState::kCutByEnd);
  Wait(2, 220, 1000, WaitState::kCutByEnd);  // for one of them
  ASSERT_EQ(Tell().cycles.size(), 1u);
  EXPECT_EQ(report_.cycles[0].waits.size(), 2u);
}

TEST_F(LockHoldersTest, AWaitForOneThatGoesOnIsNoCycle) {
  Acquire(0, 100);
  Wait(1, 210, 1000, WaitState::kCutByEnd);
  EXPECT_TRUE(Tell().cycles.empty());
}

}  // namespace
}  // namespace flowback::test
