// SPDX-License-Identifier: MIT
// Times of the flow, from packets.
#include "decode/pt/time/time_estimator.h"

#include <gtest/gtest.h>

#include "tests/pt/times_fixture.h"

namespace flowback::pt::times {
namespace {

// Twelve branches of two instructions in two packets, then an MTC, then two packets.
TEST_F(TimesTest, AnMtcBoundsThePacketsAroundIt) {
  Loop(12);
  writer_.TimePacket(Mtc{9});
  Loop(12);
  writer_.TimePacket(Mtc{10});
  Loop(6);
  writer_.TimePacket(Mtc{11});
  Decode();
  ASSERT_EQ(told_.instructions.size(), 60u);
  ExpectBounds(0, 24, kStart, Line(1));
  // Its first branches may be older than the MTC ahead of it.
  ExpectBounds(24, 36, kStart, Line(2));
  ExpectBounds(36, 48, Line(1), Line(2));
  ExpectBounds(48, 60, Line(1), Line(3));
  EXPECT_NEAR(static_cast<double>(told_.instructions[42].tsc), kStart + 1200, 300);
}

// The TIP sent the TNT off: its branch may be older than the MTC although the packet is not full.
TEST_F(TimesTest, AShortTntBelongsToThePacketBehindIt) {
  Loop(6);
  writer_.TimePacket(Mtc{9});
  Loop(1);
  writer_.TntBit(false);
  writer_.Tip(kCode);
  Loop(6);
  writer_.TimePacket(Mtc{10});
  ShowTipsAtOnce();
  ShowTipsAtOnce();
  Decode();
  ASSERT_EQ(told_.instructions.size(), 12u + 4 + 1 + 12 + 100);
  ExpectBounds(12, 17, kStart, Line(2));
  ExpectBounds(17, 29, Line(1), Line(2));
}

// Nothing shows that TIPs come at once: this one may have waited while the MTC was written, and
// what it led to may be older.
TEST_F(TimesTest, ATipMayHaveBeenHeldBack) {
  Loop(12);
  writer_.TimePacket(Mtc{9});
  writer_.TntBit(false);
  writer_.Tip(kCode);
  Loop(12);
  writer_.TimePacket(Mtc{10});
  writer_.TntBit(false);
  writer_.Tip(kCode);
  Loop(12);
  writer_.TimePacket(Mtc{11});
  Decode();
  ASSERT_EQ(told_.instructions.size(), 24u + 3 + 24 + 3 + 24);
  ExpectBounds(24, 27, kStart, Line(2));
  ExpectBounds(27, 39, kStart, Line(2));   // behind the TIP
  ExpectBounds(39, 51, Line(1), Line(2));  // a full TNT was sent as its last branch executed
  ExpectBounds(54, 66, Line(1), Line(3));
}

// A PIP says nothing of the flow here. Flow after them may have executed before the MTC ahead of
// them; only what surely follows a packet of the flow is younger.
TEST_F(TimesTest, AStatusPacketDoesNotMakeOlderFlowYounger) {
  Loop(12);
  writer_.TimePacket(Mtc{9});
  writer_.Write(Pip{});
  Loop(12);
  writer_.TimePacket(Mtc{10});
  Decode();
  ASSERT_EQ(told_.instructions.size(), 48u);
  ExpectBounds(24, 36, kStart, Line(2));
  ExpectBounds(36, 48, Line(1), Line(2));
}

// A CYC directly ahead of a PIP times that, and not the packet behind it.
TEST_F(TimesTest, ACycTimesNoPacketButTheNext) {
  Loop(6);
  writer_.TimePacket(Cyc{61});
  writer_.Write(Pip{});
  Loop(6);
  writer_.TimePacket(Mtc{9});
  Decode();
  ASSERT_EQ(told_.instructions.size(), 24u);
  ExpectBounds(12, 24, kStart, Line(1));
}

// A full one is surely full only when another TNT follows: with long TNTs six bits are not many.
TEST_F(TimesTest, SixBitsAheadOfATipMayBeOlderThanTheMtc) {
  Loop(6);
  writer_.TimePacket(Mtc{9});
  Loop(5);
  writer_.TntBit(false);
  writer_.Tip(kCode);
  Loop(6);
  writer_.TimePacket(Mtc{10});
  ShowTipsAtOnce();
  ShowTipsAtOnce();
  Decode();
  ExpectBounds(24, 25, kStart, Line(2));
  ExpectBounds(25, 37, Line(1), Line(2));
}

TEST_F(TimesTest, ACycTimesTheFirstBranchOfATnt) {
  writer_.TimePacket(Cyc{500});  // 400 ticks
  Loop(6);
  writer_.TimePacket(Cyc{500});
  writer_.TimePacket(Mtc{9});
  Decode();
  ASSERT_EQ(told_.instructions.size(), 12u);
  // At most half a unit of either ratio off: 3.7 %.
  const TscInterval first = told_.instructions[1].bounds;
  EXPECT_LE(first.lo, kStart + 400);
  EXPECT_GE(first.hi, kStart + 400);
  EXPECT_LE(first.hi, kStart + 400 + 20);
  EXPECT_NEAR(static_cast<double>(told_.instructions[1].tsc), kStart + 400, 1);
  const TscInterval second = told_.instructions[2].bounds;
  EXPECT_GE(second.lo + 20, kStart + 400);
  EXPECT_LE(second.hi, Line(1) + 3);
}

// The core stood still for most of the period: where, nobody knows.
TEST_F(TimesTest, CyclesBoundFromBothSides) {
  writer_.TimePacket(Cyc{61});
  Loop(6);
  writer_.TimePacket(Cyc{61});
  writer_.TimePacket(Mtc{9});
  Decode();
  const TscInterval first = told_.instructions[1].bounds;
  EXPECT_EQ(first.lo, kStart + 47);
  EXPECT_GE(first.hi, Line(1) - 47);
  EXPECT_LE(first.hi, Line(1) - 47 + 3);
}

// More cycles than the ratio allows in that time: then only the packets themselves hold.
TEST_F(TimesTest, CyclesThatContradictTheMtcsAreNotBelieved) {
  writer_.TimePacket(Cyc{3000});
  Loop(6);
  writer_.TimePacket(Cyc{3000});
  writer_.TimePacket(Mtc{9});
  Decode();
  ExpectBounds(0, 2, kStart, Line(1));
}

TEST_F(TimesTest, MissingMtcsWidenTheBounds) {
  Loop(6);
  writer_.TimePacket(Mtc{12});
  Loop(6);
  writer_.TimePacket(Mtc{13});
  Decode();
  ExpectBounds(0, 12, kStart, Line(4));
  ExpectBounds(12, 24, kStart, Line(5));
}

TEST_F(TimesTest, ThePauseOfAStopIsNoTimeOfInstructions) {
  for (uint8_t mtc = 9; mtc < 12; ++mtc) {
    Loop(1200);
    writer_.TimePacket(Mtc{mtc});
  }
  writer_.TntBit(false);
  writer_.Tip(kSyscall);
  writer_.TipPgd(std::nullopt);
  for (uint8_t mtc = 12; mtc < 40; ++mtc) writer_.TimePacket(Mtc{mtc});
  writer_.TipPge(kCode);
  Loop(300);  // a quarter of a period at the pace before
  writer_.TimePacket(Mtc{40});
  Decode();
  ASSERT_EQ(told_.events.size(), 4u);  // started, cbr, stopped, started
  const TraceEvent& stopped = told_.events[2];
  const TraceEvent& started = told_.events[3];
  ASSERT_EQ(stopped.kind, EventKind::kStopped);
  ASSERT_EQ(started.kind, EventKind::kStarted);
  EXPECT_LE(stopped.bounds.hi, Line(4) + 3);
  EXPECT_GE(stopped.bounds.lo + 3, Line(3));
  EXPECT_GE(started.bounds.lo + 3, Line(31));
  EXPECT_LE(started.bounds.hi, Line(32) + 3);
  const Timed first = told_.instructions[told_.before_event[3]];
  EXPECT_NEAR(static_cast<double>(first.tsc), static_cast<double>(Line(32) - 200), 30);
  EXPECT_GE(first.bounds.lo + 3, Line(31));
}

// What writes the time as tracing starts says when a system call ended. The next one, not that one,
// has the time until the next start.
TEST_F(TimesTest, TracingStartsAtTheTscPacketAheadOfIt) {
  const auto start_at = [&](uint64_t tsc) {
    writer_.TimePacket(Tsc{tsc});
    writer_.TimePacket(Tma{static_cast<uint16_t>(0x40 + (tsc - kStart) / 100), 0});
    writer_.TipPge(kCode);
  };
  Loop(1200);
  writer_.TimePacket(Mtc{9});
  Stop();
  start_at(kStart + 2000);
  Loop(6);
  Stop();
  start_at(kStart + 1'000'000);
  Loop(6);
  Decode();
  std::vector<const TraceEvent*> starts;
  std::vector<const TraceEvent*> stops;
  for (const TraceEvent& event : told_.events) {
    if (event.kind == EventKind::kStarted) starts.push_back(&event);
    if (event.kind == EventKind::kStopped) stops.push_back(&event);
  }
  ASSERT_EQ(starts.size(), 3u);
  ASSERT_EQ(stops.size(), 2u);
  EXPECT_NEAR(static_cast<double>(starts[1]->tsc), kStart + 2000, 10);
  EXPECT_NEAR(static_cast<double>(stops[1]->tsc), kStart + 2000, 100);
}

TEST_F(TimesTest, TheEndOfTheStreamIsOpen) {
  Loop(6);
  writer_.TimePacket(Mtc{9});
  Loop(12);
  Decode();
  ExpectBounds(0, 12, kStart, Line(1));
  ExpectBounds(12, 24, kStart, 0);
  ExpectBounds(24, 36, Line(1), 0);
}

// Time packets in great number with nothing in between, then pieces without any.
TEST_F(TimesTest, WhatWaitsIsBounded) {
  for (int i = 0; i < 1'000'000; ++i) writer_.TimePacket(Mtc{static_cast<uint8_t>(9 + i)});
  for (size_t i = 0; i < TimeEstimator::kMaxWaiting + 1000; ++i) writer_.TntBit(true);
  writer_.TimePacket(Mtc{static_cast<uint8_t>(9 + 1'000'000)});
  Decode();
  const uint64_t last = Line(1'000'000);
  EXPECT_EQ(told_.instructions[0].bounds.hi, 0u);  // went on before the MTC came
  EXPECT_GE(told_.instructions.back().bounds.hi, last + 800);
  EXPECT_LE(told_.instructions.back().bounds.hi, last + 803);
}

TEST_F(TimesTest, AConsumerMayEndIt) {
  told_.stop_after = 5;
  for (uint8_t mtc = 9; mtc < 30; ++mtc) {
    Loop(12);
    writer_.TimePacket(Mtc{mtc});
  }
  Decode();
  EXPECT_GE(told_.instructions.size(), 5u);
  EXPECT_LE(told_.instructions.size(), 6u);
}

// A TSC packet that goes back can't be right; times don't.
TEST_F(TimesTest, TimesNeverGoBack) {
  Loop(6);
  writer_.TimePacket(Tsc{kStart - 5000});
  writer_.TimePacket(Tma{0x40, 0});
  Loop(6);
  writer_.TimePacket(Mtc{9});
  Loop(6);
  Decode();
  EXPECT_EQ(told_.instructions.size(), 36u);
}

}  // namespace
}  // namespace flowback::pt::times
