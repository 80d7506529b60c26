// SPDX-License-Identifier: MIT
#include "decode/pt/return_stack.h"

#include <gtest/gtest.h>

namespace flowback::pt {
namespace {

TEST(ReturnStack, GivesBackTheNewestFirst) {
  ReturnStack stack;
  stack.Push(0x10, 1);
  stack.Push(0x20, 2);
  EXPECT_EQ(stack.Pop().address, 0x20u);
  EXPECT_EQ(stack.Pop().address, 0x10u);
  EXPECT_TRUE(stack.empty());
}

TEST(ReturnStack, HoldsSixtyFourAndDropsTheOldest) {
  ReturnStack stack;
  for (uint64_t i = 1; i <= ReturnStack::kDepth + 3; ++i) stack.Push(i, 0);
  for (uint64_t i = ReturnStack::kDepth + 3; i > 3; --i) EXPECT_EQ(stack.Pop().address, i);
  EXPECT_TRUE(stack.empty());
}

TEST(ReturnStack, PopIfAnyOnAnEmptyStackDoesNothing) {
  ReturnStack stack;
  stack.PopIfAny();
  EXPECT_TRUE(stack.empty());
  stack.Push(0x30, 0);
  EXPECT_EQ(stack.Pop().address, 0x30u);
}

TEST(ReturnStack, ForgetsNodesButNotAddresses) {
  ReturnStack stack;
  stack.Push(0x10, 7);
  stack.ForgetNodes();
  const ReturnStack::Entry entry = stack.Pop();
  EXPECT_EQ(entry.address, 0x10u);
  EXPECT_EQ(entry.call, 0u);
}

}  // namespace
}  // namespace flowback::pt
