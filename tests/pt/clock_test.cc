// SPDX-License-Identifier: MIT
#include "decode/pt/clock.h"

#include <gtest/gtest.h>

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

// TMA has 16 bits of the counter, so of a long period's eight MTC bits it tells seven, six, ...
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

}  // namespace
}  // namespace flowback::pt
