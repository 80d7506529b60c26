// SPDX-License-Identifier: MIT
// What stretches of a flow do to the call stack: put together, followed step by step, and kept as
// bytes.
#include "decode/call_change.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "base/number_bytes.h"
#include "decode/call_tracker.h"
#include "decode/pt/memo/path_calls.h"
#include "flowback/decode/code_image.h"
#include "replay/flow/share_calls.h"

namespace flowback {
namespace {

using Addresses = std::vector<uint64_t>;

// Calls and returns at random; `open` is the stack, which never gets empty.
CallChange RandomStretch(std::mt19937& random, Addresses& open) {
  CallChange change;
  for (int left = static_cast<int>(random() % 20); left != 0; --left) {
    const unsigned what = random() % 8;
    if (what == 0) {
      change.Replace();
    } else if (what < 4 && open.size() > 1) {
      change.Return(open.back());
      open.pop_back();
    } else {
      open.push_back(0x1000 + random() % 64);
      change.Call(open.back());
    }
  }
  return change;
}

// What a change says of a stack is what happened to it, also of several stretches together.
TEST(CallChange, TogetherSaysWhatEachSays) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    Addresses open(1 + random() % 30, 1);
    for (uint64_t& address : open) address = 0x1000 + random() % 64;
    Addresses expected = open;
    CallChange all;
    for (int stretch = 0; stretch < 5; ++stretch) all.Append(RandomStretch(random, expected));
    ASSERT_TRUE(all.usual);
    for (const uint64_t target : all.returned) {
      ASSERT_EQ(open.back(), target);
      open.pop_back();
    }
    const std::span<const uint64_t> called = all.called.all();
    open.insert(open.end(), called.begin(), called.end());
    ASSERT_EQ(open, expected);
  }
}

TEST(CallChange, AReturnElsewhereIsUnusual) {
  CallChange change;
  change.Call(0x1005);
  change.Return(0x1005);
  EXPECT_TRUE(change.usual);
  change.Call(0x1005);
  change.Return(0x2000);
  EXPECT_FALSE(change.usual);
}

// Among calls that were open before, only the innermost remaining one can have been replaced.
TEST(CallChange, WhatWasReplacedMayReturn) {
  CallChange change;
  change.Replace();
  EXPECT_TRUE(change.replaced);
  change.Return(0x1005);
  EXPECT_FALSE(change.replaced);
  change.Call(0x3005);
  change.Replace();
  EXPECT_FALSE(change.replaced);
}

class Always final : public CallJudge {
 public:
  explicit Always(StepMeaning meaning) : meaning_(meaning) {}
  StepMeaning Of(const BlockTable&, BlockStep, uint64_t) override { return meaning_; }
  bool IsUsual(const BlockRun&) override { return meaning_ != StepMeaning::kUnusual; }
  void Be(StepMeaning meaning) { meaning_ = meaning; }

 private:
  StepMeaning meaning_;
};

TraceEvent EventAt(EventKind kind, uint64_t ip) {
  TraceEvent event;
  event.kind = kind;
  event.ip = ip;
  return event;
}

TEST(CallTracker, AStopIsUsualWhereTheFlowGoesOnBehindIt) {
  Always judge(StepMeaning::kStays);
  CallTracker tracker(judge);
  tracker.Stop(InstructionClass::kFarCall, 0x1002);
  EXPECT_TRUE(tracker.stopped());
  tracker.OnEvent(EventAt(EventKind::kStarted, 0x1002));
  EXPECT_FALSE(tracker.stopped());
  tracker.OnEvent(EventAt(EventKind::kStoppedAsync, 0x1010));
  tracker.OnEvent(EventAt(EventKind::kStarted, 0x1010));
  EXPECT_TRUE(tracker.Take().usual);
  tracker.Stop(InstructionClass::kFarCall, 0x1002);
  tracker.OnEvent(EventAt(EventKind::kStarted, 0x5000));  // a signal's handler
  EXPECT_FALSE(tracker.Take().usual);
  tracker.Stop(InstructionClass::kReturn, 0x1002);
  EXPECT_FALSE(tracker.Take().usual);
  tracker.OnEvent(EventAt(EventKind::kInterrupted, 0x1002));
  EXPECT_FALSE(tracker.Take().usual);
}

// Knows what all steps but calls mean.
class Knowing final : public CallJudge {
 public:
  explicit Knowing(std::vector<StepMeaning> meanings) : meanings_(std::move(meanings)) {
    for (const StepMeaning each : meanings_)
      known_.push_back(each == StepMeaning::kCalls ? StepMeaning::kUnknown : each);
  }
  StepMeaning Of(const BlockTable&, BlockStep step, uint64_t) override {
    return meanings_[step.value];
  }
  std::span<const StepMeaning> Known(const BlockTable&) override { return known_; }
  bool IsUsual(const BlockRun&) override { return true; }

 private:
  std::vector<StepMeaning> meanings_;
  std::vector<StepMeaning> known_;
};

// Many steps at once do what each does, however many of them stay in their calls.
TEST(CallTracker, StepsTogetherDoWhatEachDoes) {
  static constexpr uint8_t kLengths[] = {5};
  constexpr uint32_t kBlocks = 16;
  std::mt19937 random(11);
  const AddressSpace space;
  BlockTable table(space, CodeMode::kX86_64);
  for (uint32_t i = 0; i < kBlocks; ++i)
    table.Add({.address = 0x1000 + 16 * i, .lengths = kLengths, .size = 5, .count = 1});
  size_t usual = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<StepMeaning> meanings(2 * kBlocks, StepMeaning::kStays);
    for (StepMeaning& meaning : meanings)
      if (random() % 4 == 0) meaning = static_cast<StepMeaning>(2 + 2 * (random() % 4));
    std::vector<BlockStep> steps(random() % 40);
    for (BlockStep& step : steps) step.value = random() % (2 * kBlocks);
    Knowing knowing(meanings);
    CallTracker each(knowing), together(knowing);
    const auto target_of = [&](size_t i) {
      return i + 1 == steps.size() ? 0x9000 : table[steps[i + 1].number()].address;
    };
    for (size_t i = 0; i < steps.size(); ++i) each.Step(table, steps[i], target_of(i));
    together.Steps(table, steps, 0x9000);
    ASSERT_EQ(together.change().usual, each.change().usual);
    if (!each.change().usual) continue;
    ++usual;
    EXPECT_EQ(together.change().returned, each.change().returned);
    EXPECT_EQ(together.change().called, each.change().called);
    EXPECT_EQ(together.change().replaced, each.change().replaced);
  }
  EXPECT_GT(usual, 500u);
}

// What a memo keeps of paths, brief or long, one path behind the other, is what the paths do.
TEST(PathCallTable, TellsOfAllPathsWhatTheyDo) {
  std::mt19937 random(5);
  pt::PathCallTable table;
  size_t unusual = 0;
  for (int round = 0; round < 500; ++round) {
    Addresses open(1 + random() % 30, 0x1000);
    CallChange expected, told;
    for (int path = 0; path < 30; ++path) {
      CallChange change = RandomStretch(random, open);
      if (random() % 64 == 0) change.Return(0x7777);  // mostly elsewhere than where a call was made
      expected.Append(change);
      if (const pt::PathCalls calls = table.Keep(change); calls != 0) table.AppendTo(told, calls);
    }
    ASSERT_EQ(told.usual, expected.usual);
    unusual += expected.usual ? 0 : 1;
    if (!expected.usual) continue;
    EXPECT_EQ(told.replaced, expected.replaced);
    EXPECT_EQ(told.returned, expected.returned);
    EXPECT_EQ(told.called, expected.called);
    EXPECT_LE(told.deepest, expected.deepest);
  }
  EXPECT_GT(unusual, 50u);
  EXPECT_LT(unusual, 450u);
  EXPECT_FALSE(table.full());
}

// A stub's jump belongs to the call right before it.
TEST(CallTracker, AStubIsUsualBehindItsCall) {
  static constexpr uint8_t kLengths[] = {5};
  const AddressSpace space;
  BlockTable table(space, CodeMode::kX86_64);
  table.Add({});
  table.Add({.address = 0x1000, .lengths = kLengths, .size = 5, .count = 1});
  const BlockStep step = BlockStep::Of(1, true);
  Always judge(StepMeaning::kCalls);
  CallTracker tracker(judge);
  tracker.Step(table, step, 0x2000);
  judge.Be(StepMeaning::kLeadsOn);
  tracker.Step(table, step, 0x3000);
  EXPECT_TRUE(tracker.change().usual);
  EXPECT_EQ(tracker.change().called, AddressStack{0x1005});
  tracker.Step(table, step, 0x4000);
  EXPECT_FALSE(tracker.Take().usual);
}

// A function that ends with a jump to a stub.
TEST(CallTracker, AStubIsUsualBehindAJumpToIt) {
  static constexpr uint8_t kLengths[] = {5};
  const AddressSpace space;
  BlockTable table(space, CodeMode::kX86_64);
  table.Add({});
  table.Add({.address = 0x1000, .lengths = kLengths, .size = 5, .count = 1});
  const BlockStep step = BlockStep::Of(1, true);
  for (const StepMeaning jump : {StepMeaning::kReplacesByStub, StepMeaning::kReplaces}) {
    Always judge(jump);
    CallTracker tracker(judge);
    tracker.Step(table, step, 0x2000);
    judge.Be(StepMeaning::kLeadsOn);
    tracker.Step(table, step, 0x3000);
    EXPECT_TRUE(tracker.change().replaced);
    EXPECT_TRUE(tracker.change().called.empty());
    EXPECT_EQ(tracker.Take().usual, jump == StepMeaning::kReplacesByStub);
  }
}

std::vector<ShareCalls> RandomShares(uint32_t seed) {
  std::mt19937 random(seed);
  Addresses open(5, 0x7fff'0000'1234);
  std::vector<ShareCalls> shares(20);
  for (ShareCalls& share : shares) {
    if (random() % 4 == 0) continue;
    share.change = RandomStretch(random, open);
    share.first = random();
    share.next = ~uint64_t{0} - random();
  }
  return shares;
}

TEST(ShareCalls, AsBytesAndBack) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    const std::vector<ShareCalls> shares = RandomShares(seed);
    NumberWriter out;
    WriteCalls(out, &shares);
    const std::vector<uint8_t> bytes = out.Take();
    NumberReader in(bytes);
    const std::vector<ShareCalls> back = ReadCalls(in);
    ASSERT_TRUE(in.Done());
    ASSERT_EQ(back.size(), shares.size());
    for (size_t i = 0; i < back.size(); ++i) {
      ASSERT_EQ(back[i].change.usual, shares[i].change.usual);
      if (!back[i].change.usual) continue;
      EXPECT_EQ(back[i].change.replaced, shares[i].change.replaced);
      EXPECT_EQ(back[i].change.returned, shares[i].change.returned);
      EXPECT_EQ(back[i].change.called, shares[i].change.called);
      EXPECT_EQ(back[i].first, shares[i].first);
      EXPECT_EQ(back[i].next, shares[i].next);
    }
    // Bytes that were cut fail.
    for (size_t size = 0; size < bytes.size(); ++size) {
      NumberReader cut(Bytes(bytes).first(size));
      ReadCalls(cut);
      EXPECT_FALSE(cut.Done());
    }
  }
}

}  // namespace
}  // namespace flowback
