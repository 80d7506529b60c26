// SPDX-License-Identifier: MIT
#include "decode/pt/return_stack.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace flowback::pt {
namespace {

TEST(ReturnStack, GivesBackTheNewestFirst) {
  ReturnStack stack;
  stack.Push(1);
  stack.Push(2);
  EXPECT_EQ(stack.Pop().call, 2u);
  EXPECT_EQ(stack.Pop().call, 1u);
  EXPECT_TRUE(stack.empty());
}

TEST(ReturnStack, HoldsSixtyFourAndDropsTheOldest) {
  ReturnStack stack;
  for (uint32_t i = 1; i <= ReturnStack::kDepth + 3; ++i) stack.Push(i);
  for (uint32_t i = ReturnStack::kDepth + 3; i > 3; --i) EXPECT_EQ(stack.Pop().call, i);
  EXPECT_TRUE(stack.empty());
}

TEST(ReturnStack, PopIfAnyOnAnEmptyStackDoesNothing) {
  ReturnStack stack;
  stack.PopIfAny();
  EXPECT_TRUE(stack.empty());
  stack.Push(3);
  EXPECT_EQ(stack.Pop().call, 3u);
}

TEST(ReturnStack, KeepsAddressesInsteadOfNodes) {
  ReturnStack stack;
  stack.Push(7);
  stack.ForgetNodes([](uint32_t call) { return uint64_t{call} * 16; });
  stack.Push(8);
  stack.ForgetNodes([](uint32_t call) { return uint64_t{call} * 32; });
  for (const uint64_t address : {8 * 32, 7 * 16}) {
    const ReturnStack::Entry entry = stack.Pop();
    EXPECT_EQ(entry.address, address);
    EXPECT_EQ(entry.call, 0u);
  }
}

// As a stretch of code would do it that returns `pops` times, then makes `depth` calls at most and
// leaves `pushes` of them.
void Walk(ReturnStack& stack, unsigned pops, unsigned depth, unsigned pushes) {
  for (unsigned i = 0; i < pops; ++i) stack.Pop();
  for (uint32_t i = 0; i < depth; ++i) stack.Push(1000 + i);
  for (unsigned i = pushes; i < depth; ++i) stack.Pop();
}

ReturnStack::Effect EffectOf(const ReturnStack& stack, unsigned pops, unsigned depth,
                             unsigned pushes) {
  ReturnStack::Effect effect;
  effect.pops = static_cast<uint8_t>(pops);
  effect.pushes = static_cast<uint8_t>(pushes);
  effect.room = static_cast<uint8_t>(ReturnStack::kDepth - depth);
  for (unsigned i = 0; i < pops; ++i) {
    effect.popped[i] = stack.CallAt(i);
    effect.must_match[i] = -1;
  }
  for (uint32_t i = 0; i < pushes; ++i) effect.pushed[i] = 1000 + i;
  return effect;
}

TEST(ReturnStack, AnEffectIsThatOfItsReturnsAndCalls) {
  for (const unsigned held : {0u, 1u, 2u, 60u, 62u, 63u, 64u, 70u}) {
    for (const unsigned pops : {0u, 1u, 2u}) {
      for (const unsigned depth : {0u, 1u, 2u, 5u}) {
        for (unsigned pushes = 0; pushes <= std::min(depth, 2u); ++pushes) {
          ReturnStack walked, told;
          for (uint32_t i = 1; i <= held; ++i) walked.Push(i), told.Push(i);
          if (pops > walked.size()) continue;
          ASSERT_TRUE(told.Apply(EffectOf(told, pops, depth, pushes)));
          Walk(walked, pops, depth, pushes);
          while (!walked.empty() && !told.empty()) EXPECT_EQ(told.Pop().call, walked.Pop().call);
          EXPECT_EQ(told.empty(), walked.empty()) << held << " held, " << depth << " deep";
        }
      }
    }
  }
}

TEST(ReturnStack, AnEffectNeedsItsCalls) {
  ReturnStack stack;
  ReturnStack::Effect effect;
  effect.pops = 2;
  effect.popped = {8, 7};
  effect.must_match = {-1, -1};
  stack.Push(8);
  EXPECT_FALSE(stack.Apply(effect)) << "one call only";
  stack.Push(7);
  EXPECT_FALSE(stack.Apply(effect)) << "in the other order";
  effect.must_match = {0, 0};
  EXPECT_TRUE(stack.Apply(effect)) << "any calls";
  EXPECT_TRUE(stack.empty());
}

}  // namespace
}  // namespace flowback::pt
