// SPDX-License-Identifier: MIT
// The memo's content for packets, on code small enough to be walked by hand. The generated streams
// and the recordings test that counting with it equals counting without it.
#include "decode/pt/memo/path_memo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "decode/effort.h"
#include "flowback/model/execution.h"
#include "tests/flow/test_code.h"

namespace flowback::pt {
namespace {

// Two calls of one function, which returns behind a conditional branch.
const std::vector<uint8_t> kCode = {
    0xe8, 0x0b, 0x00, 0x00, 0x00,  // 1000 first:  call 1010
    0x75, 0xf9,                    // 1005         jne 1000
    0xe8, 0x04, 0x00, 0x00, 0x00,  // 1007 second: call 1010
    0x75, 0xf2,                    // 100c         jne 1000
    0xff, 0xe0,                    // 100e         jmp rax
    0x75, 0x00,                    // 1010 callee: jne 1012
    0xc3,                          // 1012         ret
};
constexpr uint64_t kFirst = 0x1000, kSecond = 0x1007, kJump = 0x100e, kCallee = 0x1010;

// A short TNT packet of these outcomes, 't' and 'n', the oldest first.
uint8_t Tnt(std::string_view outcomes) {
  unsigned bits = 1;
  for (const char outcome : outcomes) bits = bits << 1 | (outcome == 't' ? 1u : 0u);
  return static_cast<uint8_t>(bits << 1);
}

class Memo : public testing::Test {
 protected:
  Path<TipTnt>* Learn(uint64_t at, uint8_t tnt) {
    return memo_.Learn(SeedAt(at), TipTnt::Tnt(tnt), stack_, evicted_);
  }
  Path<TipTnt>* LearnTip(uint64_t at, uint64_t ip, uint8_t tnt) {
    return memo_.Learn(SeedAt(at), TipTnt::Tip(ip).With(tnt), stack_, evicted_);
  }
  // What the table says without a look at calls.
  Answer Found(uint64_t at, uint8_t tnt) { return memo_.FirstAnswer(SeedAt(at), TipTnt::Tnt(tnt)); }
  Seed SeedAt(uint64_t at) { return Seed::Of(graph_.NodeAt(at)); }
  uint64_t Next(const Path<TipTnt>& path) { return graph_.info(path.next.node()).address; }
  static uint64_t Instructions(const Path<TipTnt>& path) { return path.answer().instructions(); }

  BlockGraph graph_{Space({At(0x1000, kCode)}), CodeMode::kX86_64};
  PathMemo memo_{graph_, true};
  ReturnStack stack_;
  PathUses evicted_;
};

TEST_F(Memo, ASeedIsANode) {
  for (const uint32_t node : {0u, 1u, 77u, 0x7fffffffu, 0xffffffffu})
    EXPECT_EQ(Seed::Of(node).node(), node);
}

TEST_F(Memo, APathsOwnCallsAndReturnsCancelOut) {
  // call, jne taken, ret, jne taken: at 1000 again.
  const Path<TipTnt>* path = Learn(kFirst, Tnt("ttt"));
  ASSERT_NE(path, nullptr);
  EXPECT_EQ(Next(*path), kFirst);
  EXPECT_EQ(Instructions(*path), 4u);
  FlowDigest digest;
  for (const uint64_t ip : {0x1000, 0x1010, 0x1012, 0x1005}) digest.Append(ip);
  EXPECT_EQ(path->hash, digest.hash);
  EXPECT_EQ(path->answer().power(), FlowDigest::Power(4));
  EXPECT_EQ(memo_.EffectOf(*path).pops, 0);
  EXPECT_EQ(memo_.EffectOf(*path).pushes, 0);
  EXPECT_EQ(memo_.EffectOf(*path).room, ReturnStack::kDepth - 1);
  EXPECT_EQ(Found(kFirst, Tnt("ttt")), path->answer());
}

TEST_F(Memo, ACallThatHasNotReturnedIsLeftOnTheStack) {
  const Path<TipTnt>* path = Learn(kFirst, Tnt("n"));
  ASSERT_NE(path, nullptr);
  EXPECT_EQ(Next(*path), 0x1012u);
  EXPECT_EQ(memo_.EffectOf(*path).pushes, 1);
  EXPECT_EQ(memo_.EffectOf(*path).pushed[0], graph_.NodeAt(kFirst));
}

TEST_F(Memo, TheSecondCallersPathIsKeptBesideTheFirsts) {
  stack_.Push(graph_.NodeAt(kFirst));
  const Path<TipTnt>* first = Learn(kCallee, Tnt("tt"));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(Next(*first), 0x1005u);
  EXPECT_TRUE(Found(kCallee, Tnt("tt")).is_path());

  stack_.Push(graph_.NodeAt(kSecond));
  const Path<TipTnt>* second = Learn(kCallee, Tnt("tt"));
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(Next(*second), 0x100cu);
  EXPECT_EQ(Found(kCallee, Tnt("tt")), Answer::LookBehindCall());
  EXPECT_TRUE(stack_.Apply(memo_.EffectOf(*second)));

  // The first caller's is found behind its call now, and not behind the other's.
  const Path<TipTnt>* again = Learn(kCallee, Tnt("tt"));
  ASSERT_NE(again, nullptr);
  EXPECT_NE(again, second);
  EXPECT_EQ(Next(*again), 0x1005u);
  EXPECT_FALSE(stack_.Apply(memo_.EffectOf(*second)));
  EXPECT_TRUE(stack_.Apply(memo_.EffectOf(*again)));
}

TEST_F(Memo, AReturnWithoutACallIsNoPathNowButMayBeLater) {
  EXPECT_EQ(Learn(kCallee, Tnt("tt")), nullptr);
  EXPECT_FALSE(Found(kCallee, Tnt("tt")).is_path());
  EXPECT_NE(Found(kCallee, Tnt("tt")), Answer::Never());
  stack_.Push(graph_.NodeAt(kFirst));
  EXPECT_NE(Learn(kCallee, Tnt("tt")), nullptr);
}

TEST_F(Memo, OutcomesThatCodeContradictsAreNeverAPath) {
  EXPECT_EQ(Learn(kJump, Tnt("t")), nullptr);
  EXPECT_EQ(Found(kJump, Tnt("t")), Answer::Never());
  stack_.Push(graph_.NodeAt(kFirst));
  EXPECT_EQ(Learn(kCallee, Tnt("tn")), nullptr) << "a return is not taken";
}

TEST_F(Memo, WithoutCompressedReturnsAnOutcomeAtAReturnIsNeverAPath) {
  PathMemo plain(graph_, false);
  stack_.Push(graph_.NodeAt(kFirst));
  EXPECT_EQ(plain.Learn(SeedAt(kCallee), TipTnt::Tnt(Tnt("tt")), stack_, evicted_), nullptr);
  const Path<TipTnt>* path = plain.Learn(SeedAt(kFirst), TipTnt::Tnt(Tnt("n")), stack_, evicted_);
  ASSERT_NE(path, nullptr);
  EXPECT_TRUE(plain.EffectOf(*path).Nothing()) << "the stack is not used";
}

TEST_F(Memo, ATipAndTheOutcomesBehindIt) {
  const Path<TipTnt>* path = LearnTip(kJump, kFirst, Tnt("nt"));
  ASSERT_NE(path, nullptr);
  EXPECT_EQ(Next(*path), 0x1005u);
  FlowDigest digest;
  for (const uint64_t ip : {0x100e, 0x1000, 0x1010, 0x1012}) digest.Append(ip);
  EXPECT_EQ(Instructions(*path), digest.count);
  EXPECT_EQ(path->hash, digest.hash);
}

TEST_F(Memo, ATipThatCompletesAReturnTakesWhicheverCallIsThere) {
  stack_.Push(graph_.NodeAt(kFirst));
  const Path<TipTnt>* path = LearnTip(0x1012, kSecond, 0);
  ASSERT_NE(path, nullptr);
  EXPECT_EQ(memo_.EffectOf(*path).pops, 1);
  EXPECT_EQ(memo_.EffectOf(*path).must_match.back(), 0u);
  EXPECT_EQ(Next(*path), kSecond);
}

TEST(TipTnt, AreToldByTheirWord) {
  const uint64_t low = 0x7fff'ffff'ffff, high = 0xffff'8000'0000'0000;
  std::vector<uint64_t> words;
  for (const uint64_t ip : {uint64_t{0}, uint64_t{0x401000}, low, high, ~uint64_t{0}}) {
    ASSERT_TRUE(TipTnt::HasWord(ip));
    EXPECT_EQ(TipTnt::Tip(ip).ip(), ip);
    for (const uint8_t tnt : {0x04, 0x06, 0xfe}) {
      const TipTnt both = TipTnt::Tip(ip).With(tnt);
      EXPECT_EQ(both.ip(), ip);
      EXPECT_EQ(both.tnt(), tnt);
      EXPECT_EQ(both.count(), 2);
      EXPECT_EQ(both.WithoutTnt().word(), TipTnt::Tip(ip).word());
      words.push_back(both.word());
    }
    words.push_back(TipTnt::Tip(ip).word());
  }
  words.push_back(TipTnt::Tnt(4).word());
  std::ranges::sort(words);
  EXPECT_EQ(std::ranges::adjacent_find(words), words.end());
  EXPECT_FALSE(TipTnt::HasWord(low + 1)) << "57 bits";
  EXPECT_FALSE(TipTnt::HasWord(high - 1));
}

// A function that calls the next one at once, and returns when that has, many times.
struct DeepCalls {
  static constexpr uint64_t kBegin = 0x1000;

  explicit DeepCalls(unsigned depth) {
    for (unsigned i = 0; i < depth; ++i)
      code.insert(code.end(), {0xe8, 0x01, 0x00, 0x00, 0x00, 0xc3});
    code.insert(code.end(), {0x75, 0x00, 0xc3});  // jne to the ret behind it
  }

  std::vector<uint8_t> code;
};

TEST(MemoOfDeepCalls, WhatManyCallsAndReturnsDoToTheStack) {
  for (const unsigned depth : {2u, 3u, 6u, 12u, ReturnStack::kMaxDeep}) {
    const DeepCalls calls(depth);
    BlockGraph graph(Space({At(DeepCalls::kBegin, calls.code)}), CodeMode::kX86_64);
    PathMemo memo(graph, true);
    PathUses evicted;
    ReturnStack stack;
    stack.Push(graph.NodeAt(0x1006));  // so that one more return has somewhere to go
    const Seed begin = Seed::Of(graph.NodeAt(DeepCalls::kBegin));
    const Path<TipTnt>* in = memo.Learn(begin, TipTnt::Tnt(Tnt("n")), stack, evicted);
    ASSERT_NE(in, nullptr) << depth;
    EXPECT_EQ(memo.EffectOf(*in).deep(), depth > ReturnStack::kMaxPushes);
    ASSERT_TRUE(memo.Apply(*in, stack));
    EXPECT_EQ(stack.size(), depth + 1);

    // Out again, as far as one pair of packets leads: so many returns, each compressed.
    const unsigned returns = std::min(depth, 12u);
    const std::array bytes = {Tnt("tttttt"), Tnt(std::string(std::max(returns, 7u) - 6, 't'))};
    uint16_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    if (returns < 7) continue;
    Path<TntPair>* out = memo.Learn(in->next, TntPair(word), stack, evicted);
    ASSERT_NE(out, nullptr) << depth;
    EXPECT_TRUE(memo.EffectOf(*out).deep());
    ReturnStack another = stack;
    another.Pop();
    another.Push(graph.NodeAt(DeepCalls::kBegin));
    EXPECT_FALSE(memo.Allows(*out, another)) << "another caller";
    EXPECT_FALSE(memo.Apply(*out, another));
    EXPECT_EQ(another.size(), depth + 1) << "nothing is done";
    ReturnStack shallow;
    EXPECT_FALSE(memo.Apply(*out, shallow)) << "no callers";
    ASSERT_TRUE(memo.Apply(*out, stack));
    EXPECT_EQ(stack.size(), depth + 1 - returns);
  }
}

// Paths of many calls that take each other's places: each has its own calls, always.
TEST(MemoOfDeepCalls, ArePutWhereOthersGaveWay) {
  constexpr unsigned kFunctions = 600;
  constexpr uint64_t kApart = 0x100;
  std::vector<uint8_t> code(kFunctions * kApart, 0x90);
  for (unsigned i = 0; i < kFunctions; ++i) {
    std::vector<uint8_t> calls;
    for (unsigned depth = 0; depth < 3 + i % 5; ++depth)
      calls.insert(calls.end(), {0xe8, 0x01, 0x00, 0x00, 0x00, 0xc3});
    calls.insert(calls.end(), {0x75, 0x00, 0xc3});
    std::ranges::copy(calls, code.begin() + static_cast<ptrdiff_t>(i * kApart));
    code[(i + 1) * kApart - 2] = 0xff;  // jmp rax
    code[(i + 1) * kApart - 1] = 0xe0;
  }
  BlockGraph graph(Space({At(DeepCalls::kBegin, code)}), CodeMode::kX86_64);
  PathMemo memo(graph, true);
  PathUses evicted;
  for (unsigned round = 0; round < 3; ++round) {
    for (unsigned i = 0; i < kFunctions; ++i) {
      const uint64_t begin = DeepCalls::kBegin + i * kApart;
      const Seed seed = Seed::Of(graph.NodeAt(begin));
      for (const uint8_t tnt : {Tnt("n"), Tnt("t")}) {
        for (unsigned tip = 0; tip < 40; ++tip) {  // as many as there are places, and more
          const uint64_t from = DeepCalls::kBegin + (i + tip) % kFunctions * kApart;
          const auto packets = TipTnt::Tip(begin).With(tnt);
          const Seed jump = Seed::Of(graph.NodeAt(from + kApart - 2));
          const Path<TipTnt>* other = memo.Find(jump, packets, ReturnStack(), evicted);
          ASSERT_TRUE(other != nullptr && memo.EffectOf(*other).deep());
        }
        ReturnStack stack;
        Path<TipTnt>* path = memo.Find(seed, TipTnt::Tnt(tnt), stack, evicted);
        ASSERT_NE(path, nullptr);
        ASSERT_TRUE(memo.Apply(*path, stack));
        ASSERT_EQ(stack.size(), 3 + i % 5);
        for (unsigned depth = 0; depth < stack.size(); ++depth)
          ASSERT_EQ(graph.info(stack.CallAt(stack.size() - 1 - depth)).address, begin + 6 * depth);
      }
    }
  }
}

// A walk that is too long after one call may be a path after another.
TEST(MemoOfDeepCalls, OneCallerDoesNotKeepAnothersPathAway) {
  std::vector<uint8_t> code = {0xc3};                       // 1000 ret
  code.insert(code.end(), {0xe8, 0xfa, 0xff, 0xff, 0xff});  // 1001 call 1000
  code.insert(code.end(), {0x75, 0x00, 0xc3, 0x90});        // 1006 jne 1008; ret
  code.insert(code.end(), {0xe8, 0xf1, 0xff, 0xff, 0xff});  // 100a call 1000
  code.insert(code.end(), 2100, 0x90);                      // 100f 2100 nops
  code.insert(code.end(), {0x75, 0x00, 0xc3});
  BlockGraph graph(Space({At(0x1000, code)}), CodeMode::kX86_64);
  PathMemo memo(graph, true);
  PathUses evicted;
  const Seed seed = Seed::Of(graph.NodeAt(0x1000));
  const auto packets = TipTnt::Tnt(Tnt("tn"));
  ReturnStack near, far;
  near.Push(graph.NodeAt(0x1001));
  far.Push(graph.NodeAt(0x100a));
  EXPECT_EQ(memo.Learn(seed, packets, far, evicted), nullptr);
  EXPECT_EQ(memo.slow(), SlowPacket::kNoPath);
  Path<TipTnt>* path = memo.Learn(seed, packets, near, evicted);
  ASSERT_NE(path, nullptr);
  EXPECT_EQ(memo.Learn(seed, packets, far, evicted), nullptr);
  EXPECT_EQ(memo.Find(seed, packets, near, evicted), path);
  EXPECT_FALSE(memo.slow()) << "it was there";
}

TEST(MemoOfDeepCalls, MoreThanAnEffectHoldsAreNoPath) {
  const DeepCalls calls(ReturnStack::kMaxDeep + 1);
  BlockGraph graph(Space({At(DeepCalls::kBegin, calls.code)}), CodeMode::kX86_64);
  PathMemo memo(graph, true);
  PathUses evicted;
  const ReturnStack stack;
  const Seed begin = Seed::Of(graph.NodeAt(DeepCalls::kBegin));
  EXPECT_EQ(memo.Learn(begin, TipTnt::Tnt(Tnt("n")), stack, evicted), nullptr);
  EXPECT_EQ(memo.slow(), SlowPacket::kNoPath);
}

// A function that returns at once, and very many calls of it, one behind the other: more effects
// than there are numbers for.
struct ManyCalls {
  static constexpr uint64_t kBegin = 0x1000;
  static constexpr uint64_t kCalls = 70'000;
  static constexpr uint64_t kSize = 5;

  ManyCalls() {
    for (uint64_t i = 0; i < kCalls + 8; ++i) {
      code.insert(code.end(), {0xe8, 0, 0, 0, 0});
      const auto distance = static_cast<int32_t>(-static_cast<int64_t>(1 + (i + 1) * kSize));
      std::memcpy(&code[code.size() - sizeof distance], &distance, sizeof distance);
    }
  }
  static uint64_t CallAt(uint64_t i) { return kBegin + 1 + i * kSize; }

  std::vector<uint8_t> code = {0xc3};
};

// It begins anew then: no use is forgotten, and no path has another one's effect.
TEST(MemoOfDeepCalls, ForgetsAllWhenThereIsNoRoomForAnEffect) {
  for (const MemoContent content :
       {MemoContent::kUses, MemoContent::kBlocks, MemoContent::kUsesAndBlocks}) {
    const bool lists = content == MemoContent::kBlocks;
    BlockGraph graph(Space({At(ManyCalls::kBegin, ManyCalls().code)}), CodeMode::kX86_64);
    PathMemo memo(graph, true, content);
    PathUses counts;
    const Seed seed = Seed::Of(graph.NodeAt(ManyCalls::kBegin));
    const auto packets = TipTnt::Tnt(Tnt("t"));
    const TntPair pair(static_cast<uint16_t>(Tnt("tttttt") | Tnt("t") << 8));
    const auto check = [&](auto* path, uint64_t i, uint64_t returns, ReturnStack& stack) {
      ASSERT_NE(path, nullptr);
      ASSERT_TRUE(memo.Apply(*path, stack));
      ASSERT_EQ(graph.info(path->next.node()).address,
                ManyCalls::CallAt(i) + returns * ManyCalls::kSize);
      ASSERT_TRUE(stack.empty());
      if (lists) return;
      ++path->uses;
      memo.Use(*path);
    };
    constexpr uint64_t kRounds = 2;
    for (uint64_t round = 0; round < kRounds; ++round) {
      for (uint64_t i = 0; i < ManyCalls::kCalls; ++i) {
        ReturnStack stack;
        stack.Push(graph.NodeAt(ManyCalls::CallAt(i)));
        ReturnStack same = stack;
        ASSERT_NO_FATAL_FAILURE(check(memo.Find(seed, packets, stack, counts), i, 1, stack));
        ASSERT_NO_FATAL_FAILURE(check(memo.Find(seed, pair, same, counts), i, 7, same));
      }
    }
    memo.CountUses(counts);
    if (lists) continue;
    EXPECT_EQ(counts.exits.Of(InstructionClass::kReturn, BlockExit::kTaken),
              kRounds * ManyCalls::kCalls * 8);
  }
}

TEST_F(Memo, CountsEachUseOnce) {
  Path<TipTnt>* path = Learn(kFirst, Tnt("ttn"));
  ASSERT_NE(path, nullptr);
  path->uses = 5;
  PathUses counts;
  memo_.Count(*path, counts);
  memo_.Count(*path, counts);
  EXPECT_EQ(counts.exits.Of(InstructionClass::kConditional, BlockExit::kTaken), 5u);
  EXPECT_EQ(counts.exits.Of(InstructionClass::kConditional, BlockExit::kNotTaken), 5u);
  EXPECT_EQ(counts.exits.Of(InstructionClass::kReturn, BlockExit::kTaken), 5u);
  EXPECT_EQ(counts.exits.Of(InstructionClass::kCall, BlockExit::kTaken), 5u);
}

// Uncounted uses are bounded: the user of a path learns when to count.
TEST_F(Memo, SaysWhenUsesAreToBeCounted) {
  Path<TipTnt>* path = Learn(kFirst, Tnt("ttn"));
  ASSERT_NE(path, nullptr);
  path->uses = 1;
  PathUses counts;
  for (int round = 0; round < 2; ++round) {
    for (uint32_t i = 1; i < 1u << 18; ++i) ASSERT_FALSE(memo_.Use(*path)) << i;
    EXPECT_TRUE(memo_.Use(*path));
    memo_.CountUses(counts);
  }
  EXPECT_EQ(counts.exits.packets, 1u) << "named often, used once";
}

TEST_F(Memo, APathThatGivesWayIsCounted) {
  stack_.Push(graph_.NodeAt(kFirst));
  Path<TipTnt>* first = Learn(kCallee, Tnt("tt"));
  ASSERT_NE(first, nullptr);
  first->uses = 3;
  stack_.Push(graph_.NodeAt(kSecond));
  ASSERT_NE(Learn(kCallee, Tnt("tt")), nullptr);
  EXPECT_EQ(evicted_.exits.Of(InstructionClass::kReturn, BlockExit::kTaken), 3u);
}

TEST_F(Memo, TwoPackets) {
  // The second one full, and not.
  for (const char* const second : {"tttttn", "ttt"}) {
    const std::array bytes = {Tnt("tttttt"), Tnt(second)};
    uint16_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    Path<TntPair>* pair = memo_.Learn(SeedAt(kFirst), TntPair(word), stack_, evicted_);
    ASSERT_NE(pair, nullptr);
    FlowDigest digest;
    const size_t calls = (6 + std::strlen(second)) / 3;
    for (size_t i = 0; i < calls; ++i)
      for (const uint64_t ip : {0x1000, 0x1010, 0x1012, 0x1005}) digest.Append(ip);
    EXPECT_EQ(pair->answer().instructions(), digest.count) << second;
    EXPECT_EQ(pair->hash, digest.hash) << second;
    EXPECT_EQ(graph_.info(pair->next.node()).address,
              second[std::strlen(second) - 1] == 'n' ? kSecond : kFirst)
        << second;
    EXPECT_EQ(memo_.Find(SeedAt(kFirst), TntPair(word), stack_, evicted_), pair) << second;
  }
}

TEST(MemoOfLists, APathOfMoreBlocksThanAListHoldsIsNone) {
  for (const unsigned jumps : {BlockLists::kMost - 1, BlockLists::kMost, 4 * BlockLists::kMost}) {
    std::vector<uint8_t> code;
    for (unsigned i = 0; i < jumps; ++i) code.insert(code.end(), {0xeb, 0x00});  // jmp to the next
    code.insert(code.end(), {0x75, 0x00, 0xff, 0xe0});                           // jne; jmp rax
    BlockGraph graph(Space({At(0x1000, code)}), CodeMode::kX86_64);
    PathMemo memo(graph, true, MemoContent::kBlocks);
    const ReturnStack stack;
    PathUses evicted;
    const Seed seed = Seed::Of(graph.NodeAt(0x1000));
    const Path<TipTnt>* path = memo.Learn(seed, TipTnt::Tnt(Tnt("t")), stack, evicted);
    EXPECT_EQ(path != nullptr, jumps < BlockLists::kMost) << jumps;
    EXPECT_EQ(memo.slow(), path != nullptr ? SlowPacket::kNewPath : SlowPacket::kNoPath) << jumps;
    if (path == nullptr) continue;
    EXPECT_EQ(BlockLists::CountOf(path->blocks), jumps + 1);
  }
}

}  // namespace
}  // namespace flowback::pt
