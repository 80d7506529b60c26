// SPDX-License-Identifier: MIT
// A slot of the memo's tables answers its own key, and no other one.
#include "decode/pt/memo/path_key.h"

#include <gtest/gtest.h>

#include <vector>

namespace flowback::pt {
namespace {

template <class Packets>
Path<Packets> SlotOf(const PathKey<Packets>& key, Answer answer, EffectTable::Number effect) {
  Path<Packets> path;
  path.key = key.With(answer);
  if (Path<Packets>::kPacketsBeside) path.beside = key.packets().word();
  path.set_effect(effect);
  return path;
}

template <class Packets>
void ExpectEachAnswersItself(const std::vector<Packets>& kinds) {
  std::vector<PathKey<Packets>> keys;
  for (const uint32_t node : {1u, 2u, 77u, 0x7fffffffu})
    for (const Packets packets : kinds) {
      PathKey<Packets> key(Seed::Of(node), packets);
      keys.push_back(key);
      for (unsigned behind = 0; behind < Answer::kMostBehind; ++behind) {
        key.LookBehind(node + behind);
        keys.push_back(key);
      }
    }
  const std::vector answers = {Answer::Path(1, false),
                               Answer::Path(Answer::kMostInstructions, true),
                               Answer::LookBehindCall(), Answer::Never()};
  for (size_t mine = 0; mine < keys.size(); ++mine) {
    for (const Answer answer : answers) {
      const EffectTable::Number effect = answer.is_path() ? 0xffff : 0;
      const Path<Packets> path = SlotOf(keys[mine], answer, effect);
      EXPECT_EQ(path.effect(), effect);
      if (answer.is_path()) {
        EXPECT_EQ(path.answer(), answer);
      }
      for (size_t asked = 0; asked < keys.size(); ++asked) {
        const Answer told = path.AnswerTo(keys[asked]);
        if (asked == mine) {
          EXPECT_EQ(told, answer);
          continue;
        }
        EXPECT_FALSE(told.is_path()) << mine << " " << asked;
        EXPECT_NE(told, Answer::LookBehindCall()) << mine << " " << asked;
        EXPECT_NE(told, Answer::Never()) << mine << " " << asked;
      }
    }
  }
}

TEST(PathKey, ASlotAnswersNoOtherTipsAndTnts) {
  ExpectEachAnswersItself<TipTnt>({TipTnt::Tnt(0x04), TipTnt::Tnt(0xfe), TipTnt::Tip(0x401000),
                                   TipTnt::Tip(0x401000).With(0x04),
                                   TipTnt::Tip(0xffff'8000'0000'0000)});
}

TEST(PathKey, ASlotAnswersNoOtherPairs) {
  ExpectEachAnswersItself<TntPair>({TntPair(0x0480), TntPair(0xfe80), TntPair(0x04fe)});
}

TEST(PathKey, APathSaysHowManyInstructionsAndWhetherItHasAnEffect) {
  for (const uint64_t count : {uint64_t{1}, uint64_t{1000}, Answer::kMostInstructions})
    for (const bool effect : {false, true}) {
      const Answer answer = Answer::Path(count, effect);
      EXPECT_TRUE(answer.is_path());
      EXPECT_EQ(answer.instructions(), count);
      EXPECT_EQ(answer.has_effect(), effect);
      EXPECT_EQ(answer.power(), FlowDigest::Power(count));
    }
  EXPECT_FALSE(Answer().is_path());
  EXPECT_FALSE(Answer::Never().is_path());
  EXPECT_FALSE(Answer::LookBehindCall().is_path());
}

TEST(TntPair, ItsOutcomesAreThoseOfBothPackets) {
  // nnnnnt and tn: a one ahead of the outcomes, then a zero.
  EXPECT_EQ(TntPair(0b110'0u << 8 | 0b1'000001'0u).outcomes(), 0b1'000001'10u);
  EXPECT_EQ(TipTnt::Tnt(0b1100).outcomes(), 0b110u);
  EXPECT_EQ(TipTnt::Tip(0x401000).outcomes(), 1u) << "none";
}

}  // namespace
}  // namespace flowback::pt
