// SPDX-License-Identifier: MIT
// Times of the flow, from packets: TSC 2.4 GHz, an MTC every 800 ticks, core at 3 GHz.
#include "decode/pt/time_estimator.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "decode/pt/native_decoder.h"
#include "decode/pt/packets/packet.h"
#include "decode/pt/packets/packet_writer.h"
#include "flowback/model/pt_config.h"
#include "tests/flow/test_code.h"
#include "tests/support/exact_flow.h"

namespace flowback::pt {
namespace {

constexpr uint64_t kCode = 0x401000;
constexpr uint64_t kStart = 1'000'000;
// dec rax; jne -5; ret; syscall
const std::vector<uint8_t> kLoop = {0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3, 0x0f, 0x05};
constexpr uint64_t kSyscall = kCode + 6;

PtConfig Config() {
  PtConfig config;
  config.tsc_ctc_numerator = 200;
  config.tsc_ctc_denominator = 2;
  config.mtc_shift = 3;
  config.nominal_ratio = 24;
  return config;
}

struct Timed {
  uint64_t tsc = 0;
  TscInterval bounds;
};

struct Recorder : ExecutionConsumer {
  void OnBlock(const BlockRun& run) override {
    for (size_t i = 0; i < run.lengths.size(); ++i) {
      digest.Append(run.address + i);
      instructions.push_back({run.TscOf(i), run.BoundsOf(i)});
    }
  }
  void OnEvent(const TraceEvent& event) override {
    events.push_back(event);
    before_event.push_back(instructions.size());
  }
  void OnLoss(const DataLoss& loss) override { losses.push_back(loss); }
  bool Done() const override { return instructions.size() >= stop_after; }

  FlowDigest digest;
  std::vector<Timed> instructions;
  std::vector<TraceEvent> events;
  std::vector<size_t> before_event;
  std::vector<DataLoss> losses;
  size_t stop_after = SIZE_MAX;
};

class TimesTest : public testing::Test {
 protected:
  // PSB+ at kStart; the counter is at the line of MTC 8.
  TimesTest() : history_(History(Space({At(kCode, kLoop)}))) {
    writer_.Psb();
    writer_.TimePacket(Tsc{kStart});
    writer_.TimePacket(Tma{0x40, 0});
    writer_.TimePacket(Cbr{30});
    writer_.Write(ModeExec{.cs_l = true});
    writer_.Fup(kCode);
    writer_.Write(PsbEnd{});
  }
  void Loop(int times) {
    for (int i = 0; i < times; ++i) writer_.TntBit(true);
  }
  // Leaves the loop; a system call stops tracing. Four instructions.
  void Stop() {
    writer_.TntBit(false);
    writer_.Tip(kSyscall);
    writer_.TipPgd(std::nullopt);
  }
  // Just behind an MTC.
  void PsbPlusAt(uint64_t tsc, std::optional<uint64_t> ip) {
    writer_.Psb();
    writer_.TimePacket(Tsc{tsc});
    writer_.TimePacket(Tma{static_cast<uint16_t>(0x40 + (tsc - kStart) / 100), 0});
    if (ip) {
      writer_.Write(ModeExec{.cs_l = true});
      writer_.Fup(*ip);
    }
    writer_.Write(PsbEnd{});
  }
  // `n` periods after the start.
  static uint64_t Line(uint64_t n) { return kStart + n * 800; }

  const Recorder& Decode() {
    writer_.FlushTnt();
    DecodeInput input;
    input.resync = resync_;
    input.bytes = writer_.bytes();
    input.code = &history_;
    input.config = Config();
    const std::unique_ptr<Decoder> decoder = MakeNativeDecoder();
    Recorder plain;
    const ByteAccount expected = decoder->Decode(input, plain).value();
    input.times = true;
    const ByteAccount account = decoder->Decode(input, told_).value();
    if (told_.stop_after == SIZE_MAX) {
      EXPECT_EQ(told_.digest, plain.digest);
      EXPECT_EQ(account.decoded, expected.decoded);
      EXPECT_EQ(told_.losses.size(), plain.losses.size());
      EXPECT_EQ(told_.events.size(), plain.events.size());
    }
    deliveries::DeliveryComparison().ExpectSame(input);
    ExpectOrder();
    return told_;
  }
  void ExpectOrder() const {
    uint64_t lo = 0;
    uint64_t tsc = 0;
    for (const Timed& each : told_.instructions) {
      EXPECT_GE(each.bounds.lo, lo);
      EXPECT_GE(each.tsc, tsc);
      EXPECT_GE(each.tsc, each.bounds.lo);
      if (each.bounds.hi != 0) {
        EXPECT_LE(each.tsc, each.bounds.hi);
      }
      lo = each.bounds.lo;
      tsc = each.tsc;
    }
  }
  // All instructions from `begin` to `end` lie in [lo, hi], a few ticks more at most; hi 0: open.
  void ExpectBounds(size_t begin, size_t end, uint64_t lo, uint64_t hi) const {
    ASSERT_LE(end, told_.instructions.size());
    for (size_t i = begin; i < end; ++i) {
      const TscInterval& bounds = told_.instructions[i].bounds;
      EXPECT_LE(bounds.lo, lo) << i;
      EXPECT_GE(bounds.lo + 3, lo) << i;
      if (hi == 0) {
        EXPECT_EQ(bounds.hi, 0u) << i;
      } else {
        EXPECT_GE(bounds.hi, hi) << i;
        EXPECT_LE(bounds.hi, hi + 3) << i;
      }
    }
  }

  AddressSpaceHistory history_;
  PacketWriter writer_;
  Resync resync_ = Resync::kSyncPoint;
  Recorder told_;
};

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
  Decode();
  ASSERT_EQ(told_.instructions.size(), 12u + 4 + 1 + 12);
  ExpectBounds(12, 17, kStart, Line(2));
  ExpectBounds(17, 29, Line(1), Line(2));
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

// The overflow hid two turns of the MTC counter; the TSC packet of the next PSB+ tells.
TEST_F(TimesTest, MtcsBehindAnOverflowWaitForATsc) {
  Loop(6);
  writer_.TimePacket(Mtc{9});
  writer_.Write(Ovf{});
  writer_.Fup(kCode);
  Loop(6);
  writer_.TimePacket(Mtc{11});
  Loop(12);
  writer_.TimePacket(Mtc{12});
  const uint64_t late = 2 * 256 * 800;
  writer_.Psb();
  writer_.TimePacket(Tsc{Line(4) + 100 + late});
  writer_.TimePacket(Tma{0x60, 100});
  writer_.Write(ModeExec{.cs_l = true});
  writer_.Fup(kCode);
  writer_.Write(PsbEnd{});
  Loop(6);
  writer_.TimePacket(Mtc{13});
  Decode();
  ASSERT_EQ(told_.instructions.size(), 12u + 12 + 24 + 12);
  ExpectBounds(0, 12, kStart, Line(1));
  ExpectBounds(12, 24, Line(1), Line(3) + late);
  ExpectBounds(36, 48, Line(3) + late, Line(4) + late);
}

// The same packets, but the thread was away between the last MTC and the TSC packet: the turns may
// all have been then.
TEST_F(TimesTest, TurnsBehindAnOverflowMayBeThoseOfAPause) {
  Loop(6);
  writer_.TimePacket(Mtc{9});
  writer_.Write(Ovf{});
  writer_.Fup(kCode);
  Loop(6);
  writer_.TimePacket(Mtc{11});
  Loop(12);
  Stop();
  const uint64_t turns = 2 * 256 * 800;
  PsbPlusAt(Line(3) + 100 + turns, std::nullopt);
  writer_.TipPge(kCode);
  Loop(6);
  writer_.TimePacket(Mtc{12});
  Decode();
  ASSERT_EQ(told_.instructions.size(), 12u + 12 + 24 + 4 + 12);
  ExpectBounds(0, 12, kStart, Line(1));
  ExpectBounds(12, 24, Line(1), Line(3) + turns);
  ExpectBounds(24, 36, Line(1), Line(3) + 100 + turns);
  ExpectBounds(36, 52, Line(3), Line(3) + 100 + turns);
  EXPECT_LE(told_.instructions[48].tsc, Line(4));
}

TEST_F(TimesTest, TurnsBehindAnOverflowMayBeThoseOfAnEarlierPause) {
  Loop(6);
  writer_.TimePacket(Mtc{9});
  writer_.Write(Ovf{});
  writer_.Fup(kCode);
  Loop(6);
  writer_.TimePacket(Mtc{11});
  Loop(12);
  Stop();
  writer_.TipPge(kCode);
  Loop(6);
  writer_.TimePacket(Mtc{12});
  Loop(12);
  const uint64_t turns = 2 * 256 * 800;
  PsbPlusAt(Line(4) + 100 + turns, kCode);
  Decode();
  ASSERT_EQ(told_.instructions.size(), 12u + 12 + 24 + 4 + 12 + 24);
  ExpectBounds(36, 52, Line(3), Line(4) + turns);
  ExpectBounds(76, 88, Line(4), Line(4) + 100 + turns);
}

// Outside PSB+, it comes when the clocks had stopped: then the turns may be of that time.
TEST_F(TimesTest, TurnsBehindAnOverflowMayBeThoseOfASleep) {
  Loop(6);
  writer_.TimePacket(Mtc{9});
  writer_.Write(Ovf{});
  writer_.Fup(kCode);
  Loop(6);
  writer_.TimePacket(Mtc{11});
  Loop(12);
  const uint64_t turns = 2 * 256 * 800;
  writer_.TimePacket(Tsc{Line(3) + 100 + turns});
  writer_.TimePacket(Tma{0x58, 100});
  Loop(6);
  Decode();
  ExpectBounds(36, 48, Line(3), Line(3) + 100 + turns);
}

// Nothing tells of the packets that are missing but one that can't be: as behind an overflow.
TEST_F(TimesTest, MtcsBehindAContradictionWaitForATsc) {
  resync_ = Resync::kEarliest;
  Loop(6);
  writer_.TimePacket(Mtc{9});
  writer_.FlushTnt();
  writer_.Write(TipPge{{IpPayload::kFull, kCode}});  // tracing is on already
  Loop(6);
  writer_.TimePacket(Mtc{11});
  Loop(12);
  const uint64_t turns = 2 * 256 * 800;
  PsbPlusAt(Line(3) + 100 + turns, kCode);
  Decode();
  ASSERT_EQ(told_.losses.size(), 1u);
  ASSERT_EQ(told_.instructions.size(), 12u + 12 + 24);
  ExpectBounds(0, 12, kStart, Line(1));
  ExpectBounds(12, 24, Line(1), Line(3) + turns);
}

TEST_F(TimesTest, WithoutATscBehindAnOverflowTheEndIsOpen) {
  Loop(6);
  writer_.TimePacket(Mtc{9});
  writer_.Write(Ovf{});
  writer_.Fup(kCode);
  Loop(6);
  writer_.TimePacket(Mtc{11});
  Decode();
  ExpectBounds(0, 12, kStart, Line(1));
  ExpectBounds(12, 24, Line(1), 0);
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
}  // namespace flowback::pt
