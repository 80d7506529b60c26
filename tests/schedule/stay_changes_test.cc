// SPDX-License-Identifier: MIT
// Switches found by times and by addresses. Times in nanoseconds; a pause at offset 100 * i.
#include "decode/schedule/stay_changes.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

namespace flowback {
namespace {

constexpr uint64_t kFutex = 0x7001;  // behind the system calls that threads wait in
constexpr uint64_t kRead = 0x7002;
constexpr uint64_t kClone = 0x7003;

ThreadStay Stay(int32_t tid, uint64_t begin, uint64_t end) {
  ThreadStay stay;
  stay.begin = begin;
  stay.end = end;
  stay.pid = 1;
  stay.tid = tid;
  return stay;
}

class StayChangesTest : public testing::Test {
 protected:
  StayChangesTest() { stream_.index = 0; }

  // A pause between `earliest` and `latest`: a thread stopped and should go on at `expected`.
  void Add(uint64_t earliest, uint64_t latest, uint64_t expected, uint64_t resumed) {
    const uint64_t offset = 100 * shared().pauses.size();
    shared().pauses.push_back({.offset = offset, .earliest = earliest, .latest = latest});
    shared().points.push_back({.offset = offset, .expected = expected, .resumed = resumed});
  }
  SharedStream& shared() { return streams_.front(); }

  // Until nothing changes; "tid@offset" of each change.
  std::string Found() {
    shared().stream = &stream_;
    shared().schedule = &schedule_;
    schedule_.stays = stays_;
    shared().places = SwitchPlaces(stays_.size());
    const ResumeEvidence evidence(streams_, records_);
    StayChanges found;
    for (int round = 0; round < 4; ++round) {
      found = FindStayChanges(shared(), schedule_, evidence);
      shared().places = found.places;
    }
    std::string text;
    for (const StayChange& change : found.changes)
      text += std::to_string(change.stay->tid) + "@" + std::to_string(change.offset) + " ";
    return text;
  }

  Stream stream_;
  std::vector<ThreadStay> stays_;
  Schedule schedule_;
  std::deque<SharedStream> streams_ = std::deque<SharedStream>(1);
  std::vector<SidebandRecord> records_;
};

TEST_F(StayChangesTest, OnePauseThatFitsIsIt) {
  stays_ = {Stay(1, 10, 100), Stay(2, 110, 900)};
  Add(0, 10, 0, kRead);
  Add(20, 30, kRead, kRead);
  Add(95, 115, kRead, kFutex);
  Add(200, 210, kFutex, kFutex);
  EXPECT_EQ(Found(), "1@0 2@200 ");
}

TEST_F(StayChangesTest, BetweenTwoThatFitItIsNobodys) {
  stays_ = {Stay(1, 10, 100), Stay(2, 110, 900)};
  Add(0, 10, 0, kRead);
  Add(50, 150, kRead, kRead);
  Add(50, 150, kRead, kFutex);
  EXPECT_EQ(Found(), "1@0 -1@100 2@200 ");
}

// Thread 2 stopped in a futex call when it left; where thread 1's read goes on, it does not begin.
TEST_F(StayChangesTest, AThreadGoesOnWhereItStopped) {
  stays_ = {Stay(2, 10, 20), Stay(1, 30, 100), Stay(2, 110, 900)};
  Add(0, 10, 0, kFutex);
  Add(15, 32, kFutex, kRead);
  Add(50, 150, kRead, kRead);
  Add(50, 150, kRead, kFutex);
  Add(50, 150, kFutex, kFutex);
  // The last one may hold the switch by its addresses: both threads may wait in the same place.
  EXPECT_EQ(Found(), "2@0 1@100 -1@300 2@400 ");
}

// A new thread begins where its parent's clone returns; so the parent's own return may be it.
TEST_F(StayChangesTest, ANewThreadBeginsBehindClone) {
  stays_ = {Stay(1, 10, 100), Stay(2, 110, 900)};
  ForkRecord fork;
  fork.time = 60;
  fork.tid = 2;
  fork.parent_tid = 1;
  records_.push_back(fork);
  Add(0, 10, 0, kRead);
  Add(50, 70, kClone, kClone);
  Add(80, 150, kRead, kRead);
  Add(80, 150, kFutex, kClone);
  Add(80, 150, kFutex, kFutex);
  EXPECT_EQ(Found(), "1@0 2@300 ");
}

// Two switches within the reach of the same pauses: the second may be in the first one's first.
TEST_F(StayChangesTest, SwitchesOverlap) {
  stays_ = {Stay(1, 10, 100), Stay(2, 102, 104), Stay(3, 106, 900)};
  Add(0, 10, 0, kRead);
  Add(50, 150, 0, kRead);
  Add(50, 150, 0, kFutex);
  Add(50, 150, 0, kRead);
  Add(300, 310, kRead, kRead);
  EXPECT_EQ(Found(), "1@0 -1@100 3@300 ");
}

// A switch whose pause is missing is only known to lie between its neighbours.
TEST_F(StayChangesTest, AMissingPauseLeavesAGap) {
  stays_ = {Stay(1, 10, 100), Stay(2, 110, 900)};
  Add(0, 10, 0, kRead);
  Add(20, 30, kRead, kRead);
  Add(200, 210, kFutex, kFutex);
  EXPECT_EQ(Found(), "1@0 -1@100 2@200 ");
}

}  // namespace
}  // namespace flowback
