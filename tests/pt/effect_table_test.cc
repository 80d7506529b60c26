// SPDX-License-Identifier: MIT
#include "decode/pt/memo/effect_table.h"

#include <gtest/gtest.h>

#include <set>

namespace flowback::pt {
namespace {

using Effect = ReturnStack::Effect;
using DeepEffect = ReturnStack::DeepEffect;

Effect PopOf(uint32_t call) {
  Effect effect;
  effect.CountPop();
  effect.needs = effect.pops;
  effect.popped.back() = call;
  effect.must_match.back() = Effect::kMustMatch;
  return effect;
}

TEST(EffectTable, NothingIsZero) {
  EffectTable table;
  EXPECT_EQ(table.Keep(Effect{}), 0);
  EXPECT_TRUE(table[0].Nothing());
  EXPECT_EQ(table[0].pushes, 0);
}

TEST(EffectTable, KeepsTheSameOnce) {
  EffectTable table;
  const EffectTable::Number one = table.Keep(PopOf(7));
  EXPECT_EQ(table.Keep(PopOf(7)), one);
  EXPECT_EQ(table[one].popped.back(), 7u);
  table.Clear();
  EXPECT_EQ(table.Keep(PopOf(8)), one) << "begins anew";
}

TEST(EffectTable, TellsApartWhatDiffersInOneThing) {
  EffectTable table;
  Effect any = PopOf(7);
  any.must_match.fill(0);
  Effect more = PopOf(7);
  more.CountPop();
  Effect needy = PopOf(7);
  needy.needs = 2;
  Effect narrow = PopOf(7);
  --narrow.room;
  Effect pushes = PopOf(7);
  pushes.pushes = 1;
  Effect another = pushes;
  another.pushed[0] = 1;
  std::set<EffectTable::Number> numbers;
  for (const Effect& effect : {PopOf(7), PopOf(8), any, more, needy, narrow, pushes, another})
    EXPECT_TRUE(numbers.insert(table.Keep(effect)).second);
  EXPECT_FALSE(numbers.contains(0));
}

TEST(EffectTable, TellsDeepOnesApartByAllTheirCalls) {
  EffectTable table;
  Effect effect;
  for (unsigned i = 0; i < ReturnStack::kMaxDeep; ++i) effect.CountPop();
  effect.pushes = ReturnStack::kMaxDeep;
  const DeepEffect plain{.needs = effect.pops};
  std::set<EffectTable::Number> numbers{table.Keep(effect, plain)};
  const auto is_new = [&](const DeepEffect& deep) {
    const EffectTable::Number number = table.Keep(effect, deep);
    EXPECT_TRUE(table[number].deep());
    EXPECT_EQ(table.Deep(table[number]).popped, deep.popped);
    EXPECT_EQ(table.Deep(table[number]).pushed, deep.pushed);
    EXPECT_EQ(table.Keep(effect, deep), number);
    return numbers.insert(number).second;
  };
  EXPECT_FALSE(is_new(plain));
  for (unsigned i = 0; i < ReturnStack::kMaxDeep; ++i) {
    DeepEffect popped = plain;
    popped.popped[i] = 5;
    DeepEffect pushed = plain;
    pushed.pushed[i] = 5;
    EXPECT_TRUE(is_new(popped) && is_new(pushed)) << i;
  }
  DeepEffect any = plain;
  any.any_newest = true;
  DeepEffect needy = plain;
  needy.needs = 3;
  EXPECT_TRUE(is_new(any) && is_new(needy));
}

TEST(EffectTable, SaysWhenItIsFullAndBeginsAnew) {
  EffectTable table;
  for (uint32_t first : {1u, 1u, 1'000'000u}) {
    std::set<EffectTable::Number> numbers;
    uint32_t count = 0;
    for (; !table.full(); ++count) {
      const EffectTable::Number number = table.Keep(PopOf(first + count));
      ASSERT_TRUE(numbers.insert(number).second) << count;
      ASSERT_EQ(table[number].popped.back(), first + count);
    }
    EXPECT_EQ(count, 0xffffu);
    table.Clear();
  }
}

}  // namespace
}  // namespace flowback::pt
