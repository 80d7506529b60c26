// SPDX-License-Identifier: MIT
// Times as they are printed.
#include "flowback/replay/recording_clock.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace flowback {
namespace {

class RecordingClockTest : public testing::Test {
 protected:
  RecordingClockTest() {
    setenv("TZ", "UTC", 1);
    tzset();
    // 2.5 ns a tick.
    recording_.time = {.shift = 1, .mult = 5, .zero = 1'000'000'000};
  }
  static std::string Text(const RecordingClock& clock, uint64_t tsc) {
    std::string text;
    clock.AppendText(text, tsc);
    return text;
  }

  Recording recording_;
};

TEST_F(RecordingClockTest, SecondsOfPerfsClock) {
  EXPECT_EQ(Text(RecordingClock(recording_), 400'000'000), "2.000000000");
  EXPECT_EQ(Text(RecordingClock(recording_), 0), "-");
}

TEST_F(RecordingClockTest, BoundsAreRoundedOutwards) {
  const RecordingClock clock(recording_);
  EXPECT_EQ(clock.Value(401), 1'000'001'002u);  // 1002.5
  EXPECT_EQ(clock.UpperValue(401), 1'000'001'003u);
}

TEST_F(RecordingClockTest, FindsTheFirstTickOfATime) {
  const RecordingClock clock(recording_);
  EXPECT_EQ(clock.TscAt(2'000'000'000), 400'000'000u);
  EXPECT_EQ(clock.TscAt(1'000'001'002), 401u);
  EXPECT_EQ(clock.TscAt(1'000'001'003), 402u);
}

TEST_F(RecordingClockTest, FindsItWhereTheCounterRanBeforeTheClock) {
  recording_.time.zero = uint64_t{0} - 1'000'000'000;
  const RecordingClock clock(recording_);
  EXPECT_EQ(clock.Value(800'000'000), 1'000'000'000u);
  EXPECT_EQ(clock.TscAt(1'000'000'000), 800'000'000u);
  EXPECT_EQ(clock.TscAt(1), 400'000'001u);
}

TEST_F(RecordingClockTest, TimeOfDay) {
  recording_.clock.clock_ns = 1'500'000'000;
  recording_.clock.wall_ns = 1'700'000'000'123'456'789;
  RecordingClock clock(recording_);
  ASSERT_TRUE(clock.knows_time_of_day());
  clock.ShowTimeOfDay();
  // 2 s on perf's clock is half a second after that.
  EXPECT_EQ(Text(clock, 400'000'000), "2023-11-14T22:13:20.623456789+0000");
  // And 1 s + 2.5 ns, rounded down, half a second before.
  EXPECT_EQ(Text(clock, 1), "2023-11-14T22:13:19.623456791+0000");
  EXPECT_EQ(Text(clock, 0), "-");
}

TEST_F(RecordingClockTest, TimeOfDayIsKnownWhereItIsRecordedAndTheClockCountsNanoseconds) {
  EXPECT_FALSE(RecordingClock(recording_).knows_time_of_day());
  recording_.clock.wall_ns = 1;
  EXPECT_TRUE(RecordingClock(recording_).knows_time_of_day());
  recording_.time = {};
  EXPECT_FALSE(RecordingClock(recording_).knows_time_of_day());
}

}  // namespace
}  // namespace flowback
