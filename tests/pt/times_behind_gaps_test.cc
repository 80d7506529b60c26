// SPDX-License-Identifier: MIT
// Times behind overflows and contradictions, where turns of the MTC counter may be missing.
#include <gtest/gtest.h>

#include "decode/pt/time/time_estimator.h"
#include "tests/pt/times_fixture.h"

namespace flowback::pt::times {
namespace {

// The overflow hid two turns of the MTC counter; the TSC packet of the next PSB+ shows it.
TEST_F(TimesTest, MtcsBehindAnOverflowWaitForATsc) {
  LoopAroundAnOverflow();
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
  LoopAroundAnOverflow();
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
  LoopAroundAnOverflow();
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
  LoopAroundAnOverflow();
  Loop(12);
  const uint64_t turns = 2 * 256 * 800;
  writer_.TimePacket(Tsc{Line(3) + 100 + turns});
  writer_.TimePacket(Tma{0x58, 100});
  Loop(6);
  Decode();
  ExpectBounds(36, 48, Line(3), Line(3) + 100 + turns);
}

// Only an impossible packet shows the missing ones: as behind an overflow.
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
  LoopAroundAnOverflow();
  Decode();
  ExpectBounds(0, 12, kStart, Line(1));
  ExpectBounds(12, 24, Line(1), 0);
}

}  // namespace
}  // namespace flowback::pt::times
