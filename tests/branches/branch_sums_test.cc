// SPDX-License-Identifier: MIT
// Sums of branches, of flow that is made by hand.
#include "replay/branches/branch_sums.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <vector>

namespace flowback {
namespace {

constexpr std::array<uint8_t, 8> kLengths = {1, 1, 1, 1, 1, 1, 1, 1};

BlockRun Run(uint64_t begin, size_t count, BlockExit exit, uint64_t next, InstructionClass last,
             BranchFacts facts = {}) {
  BlockRun run;
  run.address = begin;
  run.lengths = std::span(kLengths).first(count);
  run.exit = exit;
  run.next = next;
  run.last = last;
  run.branch = facts;
  return run;
}
BlockRun Taken(uint64_t begin, size_t count, uint64_t next, BranchFacts facts = {}) {
  return Run(begin, count, BlockExit::kTaken, next, InstructionClass::kConditional, facts);
}
BlockRun NotTaken(uint64_t begin, size_t count) {
  return Run(begin, count, BlockExit::kNotTaken, begin + count, InstructionClass::kConditional);
}
BranchFacts Cycles(uint32_t cycles, bool wrong = false) {
  return {cycles, BranchFacts::Cycles::kExact,
          wrong ? BranchFacts::Prediction::kWrong : BranchFacts::Prediction::kRight};
}

const BranchSum& At(const BranchReport& report, uint64_t address) {
  for (const BranchSum& sum : report.branches)
    if (sum.address == address) return sum;
  static const BranchSum none;
  ADD_FAILURE() << "no branch at " << address;
  return none;
}

TEST(BranchSums, DirectionsTargetsAndRanges) {
  BranchSums sums;
  for (int i = 0; i < 3; ++i) sums.OnBlock(Taken(0x1000, 4, 0x1000));
  sums.OnBlock(NotTaken(0x1000, 4));
  sums.OnBlock(Taken(0x1004, 2, 0x2000));
  const BranchReport report = sums.Take();
  const BranchSum& loop = At(report, 0x1003);
  EXPECT_EQ(loop.taken.times, 3u);
  EXPECT_EQ(loop.not_taken, 1u);
  EXPECT_EQ(loop.executed(), 4u);
  EXPECT_EQ(loop.edges.size(), 1u);
  EXPECT_EQ(At(report, 0x1005).edges.begin()->first.offset, 0x2000u);
  // Where the first one began is not known.
  ASSERT_EQ(report.ranges.size(), 2u);
  EXPECT_EQ(report.ranges[0].end.offset, 0x1003u);
  EXPECT_EQ(report.ranges[0].times, 2u);
  EXPECT_EQ(report.ranges[1].begin.offset, 0x1000u);
  EXPECT_EQ(report.ranges[1].end.offset, 0x1005u);
  EXPECT_EQ(report.ranges[1].times, 1u);
}

TEST(BranchSums, PredictionsAndCyclesOfWholeLinesOnly) {
  BranchSums sums;
  sums.OnBlock(Taken(0x1000, 4, 0x1000, Cycles(100)));  // what ran in these is not known
  sums.OnBlock(Taken(0x1000, 4, 0x1000, Cycles(2)));
  sums.OnBlock(NotTaken(0x1000, 4));
  sums.OnBlock(Taken(0x1004, 2, 0x1000, Cycles(3)));
  sums.OnBlock(Taken(0x1000, 4, 0x1000, Cycles(8, true)));
  const BranchReport report = sums.Take();
  const BranchEdge& loop = At(report, 0x1003).taken;
  EXPECT_EQ(loop.right, 2u);
  EXPECT_EQ(loop.wrong, 1u);
  EXPECT_EQ(loop.cycles.count(), 2u);
  EXPECT_EQ(loop.cycles.sum(), 10u);
  EXPECT_EQ(loop.cycles.instructions, 8u);
  EXPECT_EQ(loop.cycles.Quantile(0.5), 2u);
  EXPECT_EQ(loop.cycles.Quantile(0.9), 8u);
  EXPECT_EQ(At(report, 0x1005).taken.cycles.instructions, 6u);
}

TEST(BranchSums, MoreThanTheCounterHoldsIsNoNumber) {
  BranchSums sums;
  sums.OnBlock(Taken(0x1000, 4, 0x1000));
  sums.OnBlock(Taken(0x1000, 4, 0x1000,
                     {65535, BranchFacts::Cycles::kAtLeast, BranchFacts::Prediction::kNotTold}));
  const BranchReport report = sums.Take();
  EXPECT_EQ(report.branches[0].taken.cycles.at_least, 1u);
  EXPECT_EQ(report.branches[0].taken.cycles.count(), 0u);
  EXPECT_TRUE(report.branches[0].cycles_told);
  EXPECT_EQ(report.branches[0].taken.right + report.branches[0].taken.wrong, 0u);
}

// Nothing ran in a line across what is not known.
TEST(BranchSums, UnknownLossesAndEventsEndALine) {
  const std::vector<void (*)(BranchSums&)> interruptions = {
      [](BranchSums& sums) {
        UnknownFlow unknown;
        unknown.to = 0x1000;
        sums.OnUnknown(unknown);
      },
      [](BranchSums& sums) { sums.OnLoss({}); },
      [](BranchSums& sums) {
        TraceEvent event;
        event.kind = EventKind::kInterrupted;
        event.ip = 0x1000;
        event.target = 0x1000;
        sums.OnEvent(event);
        event.kind = EventKind::kStarted;
        sums.OnEvent(event);
      },
      [](BranchSums& sums) { sums.OnBlock(NotTaken(0x7000, 1)); },  // from nowhere
  };
  for (const auto interrupt : interruptions) {
    BranchSums sums;
    sums.OnBlock(Taken(0x1000, 4, 0x1000));
    interrupt(sums);
    sums.OnBlock(Taken(0x1000, 4, 0x1000));
    EXPECT_TRUE(sums.Take().ranges.size() <= 1) << "at most from where an interrupt went";
  }
}

// The place where the flow is found again is known, and what runs from there on runs in a line. The
// cycles of its branch may have passed before the loss.
TEST(BranchSums, ALineBeginsBehindALoss) {
  for (const bool of_records : {false, true}) {
    BranchSums sums(of_records);
    sums.OnBlock(Taken(0x1000, 4, 0x7000));
    sums.OnLoss({});
    sums.OnBlock(NotTaken(0x2000, 2));
    sums.OnBlock(Taken(0x2002, 2, 0x1000, Cycles(7)));
    const BranchReport report = sums.Take();
    ASSERT_EQ(report.ranges.size(), 1u);
    EXPECT_EQ(report.ranges[0].begin.offset, 0x2000u);
    EXPECT_EQ(report.ranges[0].end.offset, 0x2003u);
    EXPECT_EQ(report.ranges[0].cycles.count(), of_records ? 1u : 0u);
    EXPECT_EQ(report.arrivals.size(), of_records ? 1u : 0u);
  }
}

TEST(BranchSums, ABranchFromNowhereKnownLeadsToAThreadsFirstLine) {
  BranchSums sums(true);
  sums.OnThreadBegin(ThreadFlow(), 0);
  sums.OnBlock(Taken(0x1000, 4, 0x2000));
  sums.OnThreadBegin(ThreadFlow(), 1);
  sums.OnBlock(Taken(0x3000, 1, 0x4000));  // a branch's source alone
  const BranchReport report = sums.Take();
  ASSERT_EQ(report.ranges.size(), 1u);
  EXPECT_EQ(report.ranges[0].begin.offset, 0x1000u);
  ASSERT_EQ(report.arrivals.size(), 1u);
  EXPECT_EQ(report.arrivals.begin()->first.offset, 0x1000u);
}

TEST(BranchSums, CountsPredictionsOfBranchesThatWereNotTaken) {
  BranchSums sums;
  BlockRun run = NotTaken(0x1000, 4);
  run.branch = Cycles(0, true);
  sums.OnBlock(run);
  const BranchSum sum = At(sums.Take(), 0x1003);
  EXPECT_EQ(sum.not_taken, 1u);
  EXPECT_EQ(sum.taken.wrong, 1u);
  EXPECT_EQ(sum.taken.times, 0u);
}

BlockRun SystemCall(uint64_t begin, size_t count) {
  return Run(begin, count, BlockExit::kStopped, 0, InstructionClass::kFarCall);
}
void Start(BranchSums& sums, uint64_t ip) {
  TraceEvent event;
  event.kind = EventKind::kStarted;
  event.ip = ip;
  sums.OnEvent(event);
}
void Stop(BranchSums& sums) {
  TraceEvent event;
  event.kind = EventKind::kStopped;
  sums.OnEvent(event);
}
void Resume(BranchSums& sums, uint64_t ip) {
  UnknownFlow unknown;
  unknown.to = ip;
  sums.OnUnknown(unknown);
}

// How often ranges cover each instruction, against how often it ran.
using Counts = std::map<uint64_t, uint64_t>;
Counts Covered(const BranchReport& report) {
  Counts counts;
  for (const RangeSum& range : report.ranges)
    for (uint64_t at = range.begin.offset; at <= range.end.offset; ++at) counts[at] += range.times;
  return counts;
}

// A loop with a system call: all that ran is in a range.
TEST(BranchSums, RangesCoverAllThatRanAroundSystemCalls) {
  BranchSums sums;
  Counts ran;
  const auto run = [&](const BlockRun& block) {
    for (size_t i = 0; i < block.lengths.size(); ++i) ++ran[block.address + i];
    sums.OnBlock(block);
  };
  Start(sums, 0x1000);
  for (int i = 0; i < 5; ++i) {
    run(NotTaken(0x1000, 2));
    run(SystemCall(0x1002, 2));
    Stop(sums);
    if (i % 2 == 0)
      Start(sums, 0x1004);
    else
      Resume(sums, 0x1004);
    run(Taken(0x1004, 3, 0x1000));
  }
  EXPECT_EQ(Covered(sums.Take()), ran);
}

// There the place is a branch's source: code ahead of it ran, and how much is not known.
TEST(BranchSums, NoRangeBeginsAtTheSourceThatAStackBeginsWith) {
  BranchSums sums;
  sums.OnBlock(Taken(0x1000, 4, 0x1000));
  Resume(sums, 0x1003);
  sums.OnBlock(Taken(0x1003, 1, 0x1000));
  EXPECT_TRUE(sums.Take().ranges.empty());
}

TEST(BranchSums, KeepsSoManyTargetsOfABranch) {
  BranchSums sums;
  constexpr uint64_t kMost = BranchSums::kMostTargets;
  const auto jump = [&](uint64_t to) {
    Start(sums, 0x1000);
    sums.OnBlock(Taken(0x1000, 1, to));
  };
  for (uint64_t i = 0; i < 2 * kMost; ++i) jump(0x100000 + i);
  jump(0x100000);  // known, so still counted by itself
  const BranchSum sum = At(sums.Take(), 0x1000);
  EXPECT_EQ(sum.edges.size(), kMost);
  EXPECT_EQ(sum.edges.begin()->second.times, 2u);
  EXPECT_EQ(sum.elsewhere, kMost);
  EXPECT_EQ(sum.taken.times, 2 * kMost + 1);
}

TEST(BranchSums, WhatLeavesForWhereNobodyTellsHasNoTarget) {
  BranchSums sums;
  Start(sums, 0x1000);
  sums.OnBlock(SystemCall(0x1000, 2));
  BlockRun told = SystemCall(0x1000, 2);
  told.next = 0x9000;
  Start(sums, 0x1000);
  sums.OnBlock(told);
  const BranchSum call = At(sums.Take(), 0x1001);
  EXPECT_EQ(call.taken.times, 2u);
  ASSERT_EQ(call.edges.size(), 1u);
  EXPECT_EQ(call.edges.begin()->first.offset, 0x9000u);
  EXPECT_EQ(call.edges.begin()->second.times, 1u);
}

}  // namespace
}  // namespace flowback
