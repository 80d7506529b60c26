// SPDX-License-Identifier: MIT
// The part of a stream that can lie in a span of time: no flow in the span lies outside of it, and
// a long stream is narrowed down to little.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "flowback/decode/trace_source.h"
#include "tests/source/imaginary_source.h"

namespace flowback::testing {
namespace {

constexpr uint64_t kRecord = sizeof(ImaginaryRecord);
constexpr uint64_t kRecords = uint64_t{1} << 19;  // 16 MB
constexpr uint64_t kAllowed = uint64_t{3} << 19;  // 1.5 MB beside what is asked for

class RangeOfTimesTest : public ::testing::Test {
 protected:
  RangeOfTimesTest() {
    recording_.source = "imaginary";
    source_ = *OpenSource(recording_);
  }
  void Fill(uint64_t records, uint64_t step) {
    std::vector<ImaginaryRecord> trace;
    for (uint64_t i = 0; i < records; ++i) trace.push_back({.time = 1000 + i / step, .address = 1});
    bytes_ = ImaginaryTrace(trace);
    stream_.bytes = bytes_;
  }
  StreamRange Range(uint64_t first, uint64_t last) const {
    return RangeOfTimes(
        *source_, stream_, [&](uint64_t tsc) { return tsc < first; },
        [&](uint64_t tsc) { return tsc > last; });
  }

  Recording recording_;
  std::shared_ptr<const TraceSource> source_;
  std::vector<uint8_t> bytes_;
  Stream stream_;
};

TEST_F(RangeOfTimesTest, HoldsAllOfItAndLittleElse) {
  Fill(kRecords, 1);
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    const uint64_t first = random() % kRecords;
    const uint64_t last = std::min(first + random() % 1000, kRecords - 1);
    const StreamRange range = Range(1000 + first, 1000 + last);
    EXPECT_LE(range.begin, first * kRecord);
    EXPECT_GE(range.end, (last + 1) * kRecord);
    EXPECT_LE(range.end - range.begin, (last - first) * kRecord + kAllowed);
  }
}

TEST_F(RangeOfTimesTest, ManyAtOneTimeAreAllIn) {
  Fill(kRecords, kRecords / 4);  // four times in all
  const StreamRange range = Range(1001, 1002);
  EXPECT_LE(range.begin, kRecords / 4 * kRecord);
  EXPECT_GE(range.end, kRecords / 4 * 3 * kRecord);
}

TEST_F(RangeOfTimesTest, OutsideOfTheTraceIsAlmostNothing) {
  Fill(kRecords, 1);
  EXPECT_LE(Range(1, 10).end, kAllowed);
  EXPECT_GE(Range(1000 + 2 * kRecords, ~uint64_t{0}).begin, bytes_.size() - kAllowed);
  EXPECT_EQ(Range(0, ~uint64_t{0}).begin, 0);
  EXPECT_EQ(Range(0, ~uint64_t{0}).end, bytes_.size());
}

TEST_F(RangeOfTimesTest, WhereNoTimeIsToldNothingIsLeftOut) {
  bytes_ = ImaginaryTrace(std::vector<ImaginaryRecord>(kRecords, {.time = 0, .address = 1}));
  stream_.bytes = bytes_;
  const StreamRange range = Range(5, 6);
  EXPECT_EQ(range.begin, 0);
  EXPECT_EQ(range.end, bytes_.size());
}

}  // namespace
}  // namespace flowback::testing
