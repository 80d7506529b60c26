// SPDX-License-Identifier: MIT
#include "decode/pt/memo/return_stack.h"

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

struct Told {
  ReturnStack::Effect effect;
  ReturnStack::DeepEffect deep{};

  bool Apply(ReturnStack& stack) const {
    return stack.Apply(effect) || (effect.deep() && stack.Apply(effect, deep));
  }
};

Told EffectOf(const ReturnStack& stack, unsigned pops, unsigned depth, unsigned pushes) {
  Told told;
  ReturnStack::Effect& effect = told.effect;
  effect.pops = static_cast<uint8_t>(pops);
  effect.pushes = static_cast<uint8_t>(pushes);
  effect.room = static_cast<uint8_t>(ReturnStack::kDepth - std::max(pops, depth));
  if (pops > ReturnStack::kMaxPops || pushes > ReturnStack::kMaxPushes) {
    for (unsigned i = 0; i < pops; ++i) told.deep.popped[i] = stack.CallAt(i);
    for (uint32_t i = 0; i < pushes; ++i) told.deep.pushed[i] = 1000 + i;
    told.deep.needs = effect.pops;
    effect.needs = ReturnStack::Effect::kDeep;
    return told;
  }
  for (unsigned i = 0; i < pops; ++i) {
    effect.popped[ReturnStack::kMaxPops - 1 - i] = stack.CallAt(i);
    effect.must_match[ReturnStack::kMaxPops - 1 - i] = ReturnStack::Effect::kMustMatch;
  }
  for (uint32_t i = 0; i < pushes; ++i) effect.pushed[i] = 1000 + i;
  return told;
}

TEST(ReturnStack, AnEffectIsThatOfItsReturnsAndCalls) {
  for (const unsigned held : {0u, 1u, 2u, 13u, 14u, 60u, 62u, 63u, 64u, 70u}) {
    for (const unsigned pops : {0u, 1u, 2u, 3u, 14u}) {
      for (const unsigned depth : {0u, 1u, 2u, 5u, 14u}) {
        for (unsigned pushes = 0; pushes <= depth; ++pushes) {
          ReturnStack walked, told;
          for (uint32_t i = 1; i <= held; ++i) walked.Push(i), told.Push(i);
          if (pops > walked.size()) continue;
          ASSERT_TRUE(EffectOf(told, pops, depth, pushes).Apply(told));
          Walk(walked, pops, depth, pushes);
          while (!walked.empty() && !told.empty()) ASSERT_EQ(told.Pop().call, walked.Pop().call);
          EXPECT_EQ(told.empty(), walked.empty()) << held << " held, " << depth << " deep";
        }
      }
    }
  }
}

// The entries move in a longer array, to both sides, and are put back into its middle.
TEST(ReturnStack, GoesUpAndDownWithoutEnd) {
  ReturnStack up, down;
  for (uint32_t i = 1; i <= 64; ++i) up.Push(i), down.Push(i);
  up.ForgetNodes([](uint32_t call) { return uint64_t{call} * 16; });
  for (uint32_t round = 0; round < 2000; ++round) {
    const Told more = EffectOf(up, 0, 2, 2);
    ASSERT_TRUE(more.Apply(up));
    for (uint32_t i = 2; i-- > 0;) ASSERT_EQ(up.CallAt(1 - i), 1000 + i) << round;
    // Returns from an empty stack, as with a TIP, take it down.
    ReturnStack::Effect returns;
    returns.CountPop();
    ASSERT_TRUE(down.Apply(returns));
    ASSERT_EQ(down.size(), 63 - std::min(round, 63u));
    if (!down.empty()) {
      ASSERT_EQ(down.CallAt(0), 63 - round);
    }
  }
  EXPECT_EQ(up.size(), ReturnStack::kDepth);
  down.Push(5);
  EXPECT_EQ(down.Pop().call, 5u);
  EXPECT_TRUE(down.empty());

  ReturnStack addresses;
  for (uint32_t i = 1; i <= 1000; ++i) {
    addresses.Push(i);
    addresses.ForgetNodes([](uint32_t call) { return uint64_t{call} * 16; });
  }
  for (uint64_t i = 1000; i > 1000 - 64; --i) ASSERT_EQ(addresses.Pop().address, i * 16);
  EXPECT_TRUE(addresses.empty());
}

TEST(ReturnStack, AnEffectNeedsItsCalls) {
  ReturnStack stack;
  ReturnStack::Effect effect;
  effect.pops = 2;
  effect.popped = {7, 8};
  effect.must_match.fill(ReturnStack::Effect::kMustMatch);
  stack.Push(8);
  EXPECT_FALSE(stack.Apply(effect)) << "one call only";
  stack.Push(7);
  EXPECT_FALSE(stack.Apply(effect)) << "in the other order";
  effect.must_match = {};
  EXPECT_TRUE(stack.Apply(effect)) << "any calls";
  EXPECT_TRUE(stack.empty());
}

}  // namespace
}  // namespace flowback::pt
