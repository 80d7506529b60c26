// SPDX-License-Identifier: MIT
#include "decode/pt/stream/held_outcomes.h"

#include <gtest/gtest.h>

namespace flowback::pt {
namespace {

TEST(HeldOutcomes, WaitForTheirTip) {
  HeldOutcomes held;
  EXPECT_TRUE(held.empty());
  EXPECT_FALSE(held.deferred());
  held.Hold(0b101, 2);
  EXPECT_FALSE(held.empty());
  EXPECT_FALSE(held.deferred()) << "the TIP has not come yet";
  const auto [bits, count] = held.Take();
  EXPECT_EQ(bits, 0b101u);
  EXPECT_EQ(count, 2u);
  EXPECT_TRUE(held.empty());
  EXPECT_TRUE(held.deferred());
}

TEST(HeldOutcomes, OutcomesThatAreDroppedShowNoDeferredTip) {
  HeldOutcomes held;
  held.Hold(1, 1);
  held.Drop();
  EXPECT_TRUE(held.empty());
  EXPECT_FALSE(held.deferred());
}

TEST(HeldOutcomes, BehindAPsbNothingIsKnownOfDeferredTips) {
  HeldOutcomes held;
  held.Hold(1, 1);
  held.Take();
  held.OnPsb();
  EXPECT_FALSE(held.deferred());
}

}  // namespace
}  // namespace flowback::pt
