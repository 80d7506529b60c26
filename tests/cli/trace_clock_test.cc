// SPDX-License-Identifier: MIT
// Times as they are printed.
#include "cli/reading/trace_clock.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace flowback::cli {
namespace {

class TraceClockTest : public testing::Test {
 protected:
  TraceClockTest() {
    setenv("TZ", "UTC", 1);
    tzset();
    // 2.5 ns a tick.
    recording_.pt.time = {.shift = 1, .mult = 5, .zero = 1'000'000'000};
  }
  static std::string Text(const TraceClock& clock, uint64_t tsc) {
    std::string text;
    clock.AppendText(text, tsc);
    return text;
  }

  Recording recording_;
};

TEST_F(TraceClockTest, SecondsOfPerfsClock) {
  EXPECT_EQ(Text(TraceClock(recording_), 400'000'000), "2.000000000");
  EXPECT_EQ(Text(TraceClock(recording_), 0), "-");
}

TEST_F(TraceClockTest, BoundsAreRoundedOutwards) {
  const TraceClock clock(recording_);
  EXPECT_EQ(clock.Value(401), 1'000'001'002u);  // 1002.5
  EXPECT_EQ(clock.UpperValue(401), 1'000'001'003u);
}

TEST_F(TraceClockTest, TimeOfDay) {
  recording_.clock.clock_ns = 1'500'000'000;
  recording_.clock.wall_ns = 1'700'000'000'123'456'789;
  TraceClock clock(recording_);
  ASSERT_TRUE(clock.ShowTimeOfDay());
  // 2 s on perf's clock is half a second after that.
  EXPECT_EQ(Text(clock, 400'000'000), "2023-11-14T22:13:20.623456789+0000");
  // And 1 s + 2.5 ns, rounded down, half a second before.
  EXPECT_EQ(Text(clock, 1), "2023-11-14T22:13:19.623456791+0000");
  EXPECT_EQ(Text(clock, 0), "-");
}

TEST_F(TraceClockTest, TimeOfDayThatIsNotRecordedIsAnErrorThatSaysHow) {
  TraceClock clock(recording_);
  const Status status = clock.ShowTimeOfDay();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kUnsupported);
  EXPECT_NE(status.error().remedy().find("perf record -k"), std::string::npos);
}

TEST_F(TraceClockTest, TimeOfDayNeedsNanoseconds) {
  recording_.pt.time = {};
  recording_.clock.wall_ns = 1;
  TraceClock clock(recording_);
  const Status status = clock.ShowTimeOfDay();
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message().find("--tod"), std::string::npos);
}

}  // namespace
}  // namespace flowback::cli
