// SPDX-License-Identifier: MIT
// Where tracing stops, and whether an instruction of a kind is ahead, on code of a few bytes.
#include "decode/pt/engine/tracing_limits.h"

#include <gtest/gtest.h>

#include "decode/pt/engine/flag_search.h"
#include "tests/flow/test_code.h"

namespace flowback::pt {
namespace {

class TracingLimitsTest : public testing::Test {
 protected:
  // 1000: jmp 2000    2000: mov cr3, rax; ret
  BlockGraph graph_{
      Space({At(0x1000, {0xe9, 0xfb, 0x0f, 0x00, 0x00}), At(0x2000, {0x0f, 0x22, 0xd8, 0xc3})}),
      CodeMode::kX86_64};
  const uint32_t jump_ = graph_.NodeAt(0x1000);
  const uint32_t move_ = graph_.NodeAt(0x2000);
  PtConfig config_;
  Errata errata_;
  const TracingLimits limits_{config_, errata_};
};

TEST_F(TracingLimitsTest, WithAnAddressItStopsWhereCodeLeadsThere) {
  EXPECT_TRUE(limits_.StopAtEndOf(graph_, jump_, 0x2000));
  EXPECT_FALSE(limits_.StopAtEndOf(graph_, jump_, 0x2001));
}

TEST_F(TracingLimitsTest, WithoutOneItStopsAtOtherPageTables) {
  EXPECT_TRUE(limits_.StopAtEndOf(graph_, move_, std::nullopt));
  EXPECT_FALSE(limits_.StopAtEndOf(graph_, jump_, std::nullopt));
}

TEST_F(TracingLimitsTest, WithTheErratumAJumpOutOfTheFilterHasNoAddress) {
  config_.filter_ranges = {{.begin = 0x1000, .end = 0x1fff}};
  EXPECT_FALSE(limits_.StopAtEndOf(graph_, jump_, std::nullopt));
  errata_.filter_exit_no_ip = true;
  EXPECT_TRUE(limits_.StopAtEndOf(graph_, jump_, std::nullopt));
  config_.filter_ranges.push_back({.begin = 0x2000, .end = 0x2fff});
  EXPECT_FALSE(limits_.StopAtEndOf(graph_, jump_, std::nullopt));
}

TEST_F(TracingLimitsTest, AFlagIsSearchedInCodeThatNeedsNoPacket) {
  FlagSearch search;
  EXPECT_TRUE(search.Finds(graph_, jump_, kFlagMovCr3));
  EXPECT_FALSE(search.Finds(graph_, jump_, kFlagPtwrite));
  EXPECT_FALSE(search.Finds(graph_, jump_, kFlagPtwrite)) << "nor the second time";
  EXPECT_TRUE(search.Finds(graph_, jump_, kFlagMovCr3)) << "in vain was the other one";
  EXPECT_FALSE(search.Finds(graph_, graph_.NodeAt(0x2003), kFlagMovCr3)) << "behind it";
}

}  // namespace
}  // namespace flowback::pt
