// SPDX-License-Identifier: MIT
#include "decode/pt/stream/stream_parts.h"

#include <gtest/gtest.h>

#include <vector>

#include "flowback/decode/schedule.h"

namespace flowback::pt {
namespace {

class StreamPartsTest : public testing::Test {
 protected:
  StreamPartsTest() { input_.bytes = bytes_; }

  std::vector<uint8_t> bytes_ = std::vector<uint8_t>(100);
  DecodeInput input_;
  StreamParts parts_;
};

TEST_F(StreamPartsTest, WithoutGapsBytesFollowEachOtherToTheEnd) {
  EXPECT_EQ(parts_.EndFrom(input_, 0), 100u);
  EXPECT_EQ(parts_.NextGap(input_), nullptr);
}

TEST_F(StreamPartsTest, EachGapEndsAPart) {
  input_.gaps = {{10, "first"}, {40, "second"}, {200, "behind the end"}};
  EXPECT_EQ(parts_.EndFrom(input_, 0), 10u);
  EXPECT_EQ(parts_.NextGap(input_)->reason, "first");
  EXPECT_EQ(parts_.EndFrom(input_, 10), 40u);
  EXPECT_EQ(parts_.NextGap(input_)->reason, "second");
  EXPECT_EQ(parts_.EndFrom(input_, 40), 100u);
  EXPECT_EQ(parts_.EndFrom(input_, 100), 100u);
  EXPECT_EQ(parts_.NextGap(input_), nullptr) << "none is behind the stream's end";
}

TEST_F(StreamPartsTest, GapsThatWereGoneOverAreLeftOut) {
  input_.gaps = {{10, "first"}, {40, "second"}};
  EXPECT_EQ(parts_.EndFrom(input_, 20), 40u);
  EXPECT_EQ(parts_.NextGap(input_)->reason, "second");
}

TEST_F(StreamPartsTest, StaysAreEnteredInOrder) {
  const ThreadStay first{};
  const ThreadStay second{};
  input_.changes = {{0, &first}, {50, &second}};
  EXPECT_EQ(parts_.StayAtHand(input_), nullptr);
  EXPECT_EQ(parts_.NextStay(input_), 0u);
  EXPECT_EQ(parts_.Enter(input_, 10), &first);
  EXPECT_EQ(parts_.Enter(input_, 10), nullptr);
  EXPECT_EQ(parts_.StayAtHand(input_), &first);
  EXPECT_EQ(parts_.NextStay(input_), 50u);
  EXPECT_EQ(parts_.Enter(input_, 50), &second);
  EXPECT_EQ(parts_.NextStay(input_), 100u);
}

TEST_F(StreamPartsTest, AStateOfAnotherInputIsKnownForOne) {
  const ThreadStay stay{};
  input_.changes = {{0, &stay}};
  input_.gaps = {{10, "gap"}};
  parts_.Enter(input_, 0);
  EXPECT_TRUE(parts_.Fits(input_));
  EXPECT_FALSE(parts_.Fits(DecodeInput()));
  EXPECT_NE(parts_, StreamParts());
}

}  // namespace
}  // namespace flowback::pt
