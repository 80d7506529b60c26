// SPDX-License-Identifier: MIT
#include "decode/pt/time/clock.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "base/recorded/pt_config.h"
#include "decode/pt/packets/packet_writer.h"

namespace flowback::pt {
namespace {

// TSC 2.4 GHz, crystal 24 MHz: 100 TSC ticks a crystal tick; an MTC every 8 crystal ticks.
PtConfig Config() {
  PtConfig config;
  config.tsc_ctc_numerator = 200;
  config.tsc_ctc_denominator = 2;
  config.mtc_shift = 3;
  config.nominal_ratio = 24;
  return config;
}

TEST(Clock, KnowsNothingBeforeTheFirstTsc) {
  Clock clock(Config());
  clock.On(Mtc{5});
  clock.OnCycles(100);
  EXPECT_EQ(clock.tsc(), 0u);
  EXPECT_EQ(clock.first_tsc(), 0u);
}

TEST(Clock, MtcCountsFromTheTicksThatTmaNames) {
  Clock clock(Config());
  clock.On(Tsc{1'000'000});
  // The crystal counter was 0x43: 3 ticks past a multiple of 8; 40 TSC ticks into the tick.
  clock.On(Tma{0x43, 40});
  clock.On(Mtc{0x09});  // counter 0x48, five ticks after 0x43
  EXPECT_EQ(clock.tsc(), 1'000'000u - 40 + 500);
  clock.On(Mtc{0x0a});
  EXPECT_EQ(clock.tsc(), 1'000'000u - 40 + 1300);
}

TEST(Clock, AnMtcThatIsMissingIsSeenByTheNext) {
  Clock clock(Config());
  clock.On(Tsc{1'000'000});
  clock.On(Tma{0x40, 0});
  clock.On(Mtc{0x0b});  // two missing
  EXPECT_EQ(clock.tsc(), 1'000'000u + 3 * 800);
}

TEST(Clock, TheMtcCounterWraps) {
  Clock clock(Config());
  clock.On(Tsc{1'000'000});
  clock.On(Tma{0x07f8, 0});  // MTC value 0xff
  clock.On(Mtc{0x00});
  EXPECT_EQ(clock.tsc(), 1'000'000u + 800);
}

// TMA has 16 bits of the counter, so it has seven, six, ... of a long period's eight MTC bits
TEST(Clock, TmaTellsFewerMtcBitsOfALongPeriod) {
  PtConfig config = Config();
  config.mtc_shift = 9;
  Clock clock(config);
  clock.On(Tsc{1'000'000});
  clock.On(Tma{0x0200, 0});  // the counter's bits 9 to 15 are 1; its bit 16 may be set
  clock.On(Mtc{0x82});
  EXPECT_EQ(clock.tsc(), 1'000'000u + 51'200);
  clock.On(Mtc{0x02});  // from here on all eight bits count
  EXPECT_EQ(clock.tsc(), 1'000'000u + 51'200 * 129);
}

TEST(Clock, TheTscPacketWrapsAtFiftySixBits) {
  Clock clock(Config());
  clock.On(Tsc{(uint64_t{1} << 56) - 10});
  clock.On(Tsc{5});
  EXPECT_EQ(clock.tsc(), (uint64_t{1} << 56) + 5);
}

TEST(Clock, TheReferenceTellsTheUpperBits) {
  constexpr uint64_t kTurn = uint64_t{1} << 56;
  PtConfig config = Config();
  config.tsc_reference = 3 * kTurn + 100;
  Clock clock(config);
  clock.On(Tsc{kTurn - 10});  // a little before the counter's lower bits turned over
  EXPECT_EQ(clock.tsc(), 3 * kTurn - 10);
  clock.On(Tsc{200});
  EXPECT_EQ(clock.tsc(), 3 * kTurn + 200);
  Clock later(config);  // that begins to read there
  later.On(Tsc{200});
  EXPECT_EQ(later.tsc(), 3 * kTurn + 200);
}

TEST(Clock, TheWholeCounterIsTheNearest) {
  constexpr uint64_t kTurn = uint64_t{1} << 56;
  EXPECT_EQ(WholeTsc(5, 0), 5);
  EXPECT_EQ(WholeTsc(kTurn - 1, 5), kTurn - 1);  // there is nothing below 0
  EXPECT_EQ(WholeTsc(kTurn - 1, kTurn + 5), kTurn - 1);
  EXPECT_EQ(WholeTsc(5, kTurn - 1), kTurn + 5);
  EXPECT_EQ(WholeTsc(5, ~uint64_t{0}), 255 * kTurn + 5);  // nor above the counter
  EXPECT_EQ(WholeTsc(kTurn / 2, 7 * kTurn), 7 * kTurn + kTurn / 2);
}

TEST(Clock, CyclesCountAtTheCoreBusRatio) {
  Clock clock(Config());
  clock.On(Cbr{30});  // 3 GHz core
  clock.On(Tsc{1'000'000});
  clock.OnCycles(300);
  EXPECT_EQ(clock.tsc(), 1'000'240u);
  clock.OnCycles(300);
  EXPECT_EQ(clock.tsc(), 1'000'480u);
}

TEST(Clock, NeverGoesBackAtAnMtcThatLagsBehindCycles) {
  Clock clock(Config());
  clock.On(Cbr{24});
  clock.On(Tsc{1'000'000});
  clock.On(Tma{0x40, 0});
  clock.OnCycles(900);
  clock.On(Mtc{0x09});
  EXPECT_EQ(clock.tsc(), 1'000'900u);
}

TEST(Clock, WithoutRatiosOnlyTscCounts) {
  Clock clock(PtConfig{});
  clock.On(Tsc{77});
  clock.On(Tma{1, 1});
  clock.On(Mtc{9});
  clock.On(Cbr{30});
  clock.OnCycles(1000);
  EXPECT_EQ(clock.tsc(), 77u);
}

TEST(ClockBounds, AnMtcIsItsGridLine) {
  Clock clock(Config());
  clock.On(Tsc{1'000'000});
  clock.On(Tma{0x40, 0});
  EXPECT_EQ(clock.lo(), 1'000'000u);
  ASSERT_TRUE(clock.On(Mtc{0x09}));
  const TimeMark mark = clock.Mark(TimeMark::Kind::kMtc);
  EXPECT_LE(mark.lo, 1'000'800u);
  EXPECT_GE(mark.hi, 1'000'801u);
  EXPECT_LE(mark.hi - mark.lo, 3u);
}

TEST(ClockBounds, AnMtcWithoutTmaSaysNothing) {
  Clock clock(Config());
  clock.On(Tsc{1'000'000});
  EXPECT_FALSE(clock.On(Mtc{9}));
}

TEST(ClockBounds, FollowTheTscBeyondFiftySixBits) {
  Clock clock(Config());
  clock.On(Tsc{(uint64_t{1} << 56) - 10});
  clock.On(Tsc{5});
  EXPECT_EQ(clock.lo(), (uint64_t{1} << 56) + 5);
  EXPECT_EQ(clock.Mark(TimeMark::Kind::kTsc).hi, (uint64_t{1} << 56) + 5);
}

// 24 and 30 are rounded: the TSC is not slower than 23.5, the core not faster than 30.5 times the
// bus.
TEST(ClockBounds, CyclesTakeSomeTimeAtLeast) {
  Clock clock(Config());
  clock.On(Cbr{30});
  clock.On(Tsc{1'000'000});
  clock.OnCycles(6100);
  EXPECT_EQ(clock.lo(), 1'000'000u + 4700);
  EXPECT_EQ(clock.tsc(), 1'000'000u + 4880);
  EXPECT_EQ(clock.Mark(TimeMark::Kind::kCyc).hi, 0u);
}

// The packet comes before the change; some cycles before it may have been faster already.
TEST(ClockBounds, TheHighestRatioBoundsCyclesAroundAChangeOfFrequency) {
  Clock clock(Config());
  clock.On(Cbr{12});
  clock.On(Tsc{1'000'000});
  clock.OnCycles(6100);
  clock.On(Cbr{30});
  clock.OnCycles(6100);
  EXPECT_EQ(clock.lo(), 1'000'000u + 9400);
  EXPECT_EQ(clock.tsc(), 1'000'000u + 12'200 + 4880);
  clock.On(Cbr{12});
  EXPECT_EQ(clock.lo(), 1'000'000u + 9400);
}

TEST(ClockBounds, CyclesWithoutRatiosBoundNothing) {
  Clock clock(PtConfig{});
  clock.On(Tsc{1000});
  clock.On(Cbr{30});
  clock.OnCycles(500);
  EXPECT_EQ(clock.lo(), 1000u);
}

// A missing packet may have had a frequency change.
TEST(ClockBounds, BehindAGapCyclesBoundNothingUntilARatioIsTold) {
  Clock clock(Config());
  clock.On(Cbr{30});
  clock.On(Tsc{1'000'000});
  clock.OnCycles(6100);
  EXPECT_EQ(clock.lo(), 1'000'000u + 4700);
  clock.OnGap();
  clock.OnCycles(6100);
  EXPECT_EQ(clock.lo(), 1'000'000u);
  clock.On(Tsc{2'000'000});
  clock.OnCycles(6100);
  EXPECT_EQ(clock.lo(), 2'000'000u);
  EXPECT_EQ(clock.tsc(), 2'004'880u);
  clock.On(Cbr{30});  // the same again; at which one those before it ran is not known
  clock.OnCycles(6100);
  EXPECT_EQ(clock.lo(), 2'000'000u);
  clock.On(Tsc{3'000'000});
  EXPECT_EQ(clock.Mark(TimeMark::Kind::kTsc).ratio, 0);
  clock.OnCycles(6100);
  EXPECT_EQ(clock.lo(), 3'000'000u + 4700);
}

TEST(ClockBounds, ARatioToldBehindAGapDoesNotHoldForTheCyclesOfTheGap) {
  Clock clock(Config());
  clock.On(Cbr{30});
  clock.On(Tsc{1'000'000});
  clock.OnGap();
  clock.On(Cbr{12});
  clock.OnCycles(6100);  // of the time before it as well
  EXPECT_EQ(clock.lo(), 1'000'000u);
}

// No CYC packet need come with a CBR packet: cycles since the MTC may have been at the ratio
// before.
TEST(ClockBounds, ARatioToldBehindAnMtcDoesNotHoldForTheCyclesSinceIt) {
  Clock clock(Config());
  clock.On(Cbr{30});
  clock.On(Tsc{1'000'000});
  clock.On(Tma{0x40, 0});
  clock.OnGap();
  ASSERT_TRUE(clock.On(Mtc{9}));
  const uint64_t mtc = clock.lo();
  clock.On(Cbr{12});
  clock.OnCycles(100);
  EXPECT_EQ(clock.lo(), mtc);
  ASSERT_TRUE(clock.On(Mtc{10}));
  const uint64_t next = clock.lo();
  clock.OnCycles(100);
  EXPECT_GT(clock.lo(), next);
}

TEST(ClockBounds, ADamagedCycHasALimit) {
  Clock clock(Config());
  clock.On(Cbr{1});
  clock.On(Tsc{1000});
  for (int i = 0; i < 100; ++i) clock.On(Cyc{UINT64_MAX});
  EXPECT_GE(clock.tsc(), 1000u);
  EXPECT_LT(clock.tsc(), uint64_t{1} << 60);
}

// The overflow lasted longer than a turn of the MTC counter (256 periods of 800 ticks).
TEST(ClockBounds, ATscTellsHowManyTurnsOfTheMtcCounterWereLost) {
  Clock clock(Config());
  clock.On(Tsc{1'000'000});
  clock.On(Tma{0x40, 0});
  clock.On(Mtc{0x09});
  clock.OnGap();
  clock.On(Mtc{0x0a});  // or one, two, ... turns later
  EXPECT_TRUE(clock.in_doubt());
  EXPECT_TRUE(clock.Mark(TimeMark::Kind::kMtc).in_doubt);
  clock.On(Tsc{1'000'000 + 2 * 800 + 2 * 256 * 800 + 300});
  const TimeMark mark = clock.Mark(TimeMark::Kind::kTsc);
  EXPECT_FALSE(mark.in_doubt);
  EXPECT_EQ(mark.late, 2u * 256 * 800);
  EXPECT_EQ(mark.doubts, 1u);
}

TEST(ClockBounds, ATscClearsADoubtThatWasNone) {
  Clock clock(Config());
  clock.On(Tsc{1'000'000});
  clock.On(Tma{0x40, 0});
  clock.OnGap();
  clock.On(Mtc{0x0b});
  clock.On(Tsc{1'000'000 + 3 * 800 + 799});
  EXPECT_EQ(clock.Mark(TimeMark::Kind::kTsc).late, 0u);
  EXPECT_FALSE(clock.in_doubt());
}

// Each a place where turns may have been lost; twice before the same MTC is one place.
TEST(ClockBounds, APauseBehindAGapIsAnotherPlaceForLostTurns) {
  Clock clock(Config());
  clock.On(Tsc{1'000'000});
  clock.On(Tma{0x40, 0});
  clock.OnPause();
  clock.On(Mtc{0x09});
  EXPECT_FALSE(clock.in_doubt());
  clock.OnPause();
  clock.OnGap();
  clock.OnGap();
  clock.On(Mtc{0x0a});
  clock.OnPause();
  clock.On(Mtc{0x0b});
  clock.On(Mtc{0x0c});
  clock.On(Tsc{1'000'000 + 4 * 800 + 256 * 800 + 300});
  const TimeMark mark = clock.Mark(TimeMark::Kind::kTsc);
  EXPECT_EQ(mark.late, 256u * 800);
  EXPECT_EQ(mark.doubts, 2u);
}

TEST(ClockBounds, ThePauseBeforeTheTscMayHaveAllLostTurns) {
  Clock clock(Config());
  clock.On(Tsc{1'000'000});
  clock.On(Tma{0x40, 0});
  clock.OnGap();
  clock.On(Mtc{0x09});
  clock.OnPause();
  clock.On(Tsc{1'000'000 + 800 + 256 * 800 + 300});
  EXPECT_EQ(clock.Mark(TimeMark::Kind::kTsc).doubts, 2u);
}

// No MTC for longer than a period: they stopped, whatever the reason.
TEST(ClockBounds, MissingMtcsBehindAGapAreAPause) {
  for (const bool before_tsc : {false, true}) {
    Clock clock(Config());
    clock.On(Tsc{1'000'000});
    clock.On(Tma{0x40, 0});
    clock.OnGap();
    clock.On(Mtc{0x09});
    uint64_t last = 1'000'000 + 800;
    if (!before_tsc) {
      clock.On(Mtc{0x0b});
      last += 1600;
    }
    clock.On(Tsc{last + 256 * 800 + (before_tsc ? 900 : 300)});
    EXPECT_EQ(clock.Mark(TimeMark::Kind::kTsc).late, 256u * 800);
    EXPECT_EQ(clock.Mark(TimeMark::Kind::kTsc).doubts, 2u) << before_tsc;
  }
}

// Rounded, the line of an MTC may lie a tick behind a TSC packet that came after it.
TEST(ClockBounds, AWholeTurnIsNotMissedByRounding) {
  Clock clock(Config());
  clock.On(Tsc{1'000'000});
  clock.On(Tma{0x40, 0});
  clock.OnGap();
  clock.On(Mtc{0x09});
  clock.On(Tsc{1'000'000 + 800 + 256 * 800 - 1});
  EXPECT_EQ(clock.Mark(TimeMark::Kind::kTsc).late, 256u * 800);
}

// It is always sent with a TSC packet, whose time it describes.
TEST(ClockBounds, ATmaWhoseTscIsLostSaysNothing) {
  Clock clock(Config());
  clock.On(Tsc{1'000'000});
  clock.On(Tma{0x40, 0});
  clock.On(Mtc{0x09});
  clock.On(Tma{0x99, 50});
  EXPECT_TRUE(clock.in_doubt());
  ASSERT_TRUE(clock.On(Mtc{0x14}));
  EXPECT_EQ(clock.tsc(), 1'000'000u + 12 * 800);

  clock.On(Tsc{2'000'000});
  clock.OnGap();
  clock.On(Tma{0x40, 0});
  EXPECT_FALSE(clock.On(Mtc{0x09}));
  EXPECT_EQ(clock.tsc(), 2'000'000u);
}

class TimeAfterTest : public testing::Test {
 protected:
  TimeAfterTest() : clock_(Config()) {
    clock_.On(Cbr{30});
    clock_.On(Tsc{1'000'000});
    clock_.On(Tma{0x40, 0});
  }
  std::optional<uint64_t> After(size_t limit = 4096) {
    writer_.FlushTnt();
    return TimeAfter(writer_.bytes(), clock_, {}, limit);
  }

  Clock clock_;
  PacketWriter writer_;
};

TEST_F(TimeAfterTest, IsTheNextMtc) {
  writer_.TntBit(true);
  writer_.Tip(0x401000);
  writer_.TimePacket(Mtc{0x09});
  writer_.TimePacket(Mtc{0x0a});
  EXPECT_EQ(After(), 1'000'802u);
}

TEST_F(TimeAfterTest, CyclesUntilThenCountBack) {
  writer_.TimePacket(Cyc{305});
  writer_.Tip(0x401000);
  writer_.TimePacket(Cyc{305});
  writer_.TimePacket(Mtc{0x09});
  EXPECT_EQ(After(), 1'000'802u - 470);
}

TEST_F(TimeAfterTest, BehindAnOverflowOnlyATscCounts) {
  writer_.Write(Ovf{});
  writer_.TimePacket(Mtc{0x09});
  EXPECT_EQ(After(), std::nullopt);
  writer_.TimePacket(Tsc{1'300'000});
  EXPECT_EQ(After(), 1'300'000u);
}

TEST_F(TimeAfterTest, DoesNotLookBeyondItsLimit) {
  for (int i = 0; i < 100; ++i) writer_.Write(Pad{});
  writer_.TimePacket(Mtc{0x09});
  EXPECT_EQ(After(50), std::nullopt);
  EXPECT_TRUE(After(200));
}

TEST_F(TimeAfterTest, StopsAtDamage) {
  std::vector<uint8_t> bytes = {0x02, 0x01};  // no such packet
  bytes.insert(bytes.end(), {Mtc::kOpcode.value, 0x09});
  EXPECT_EQ(TimeAfter(bytes, clock_, {}), std::nullopt);
}

}  // namespace
}  // namespace flowback::pt
