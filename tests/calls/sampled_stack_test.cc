// SPDX-License-Identifier: MIT
// Stacks of samples, from callchains, hardware's stacks of calls and last branches.
//
//   1000 main  call f       1020 f  call g       1040 g  call h       1060 h  nop ; ret
//
// which return to 1005, 1025 and 1045.
#include "replay/calls/unwind/sampled_stack.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/hex.h"

namespace flowback {
namespace {

using Stitch = SampledStack::Stitch;

constexpr uint64_t kKernelMark = ~uint64_t{0} - 127;
constexpr uint64_t kKernelPlace = 0xffffffff81000010;

struct Branch {
  uint64_t from = 0;
  uint64_t to = 0;
};

class SampledStacks : public ::testing::Test {
 protected:
  SampledStacks() {
    code_.assign(0x80, 0x90);
    for (const size_t at : {0x00, 0x20, 0x40}) {
      code_[at] = 0xe8;  // call to the next function
      code_[at + 1] = 0x1b;
      code_[at + 2] = code_[at + 3] = code_[at + 4] = 0;
    }
    code_[0x61] = 0xc3;
    space_.Map(
        {0x1000, code_.size(), 0,
         std::make_shared<CodeSection>("code", 0, Bytes(code_), nullptr, Verification::kGiven)});
  }

  FileWords Words(const std::vector<uint64_t>& words) {
    kept_.push_back(std::make_unique<std::vector<uint64_t>>(words));
    const std::vector<uint64_t>& kept = *kept_.back();
    return {Bytes(reinterpret_cast<const uint8_t*>(kept.data()), 8 * kept.size()), false};
  }
  SampledBranches Branches(const std::vector<Branch>& newest_first) {
    std::vector<uint64_t> words;
    for (const Branch& each : newest_first) words.insert(words.end(), {each.from, each.to, 0});
    return {Words(words)};
  }
  CallSample Sample(uint64_t ip, const std::vector<uint64_t>& chain = {}) {
    CallSample sample;
    sample.ip = ip;
    sample.chain = Words(chain);
    sample.has_chain = !chain.empty();
    return sample;
  }
  CallSample Calls(uint64_t ip, const std::vector<Branch>& calls,
                   const std::vector<uint64_t>& chain = {}) {
    CallSample sample = Sample(ip, chain);
    sample.branches = Branches(calls);
    sample.branches_are_calls = true;
    return sample;
  }
  CallSample InRing(uint64_t slot, const std::vector<Branch>& calls) {
    CallSample sample = Calls(0x1060, calls);
    sample.branch_index = slot;
    sample.has_branch_index = true;
    return sample;
  }

  // "1060 =1045/1040 +1025 ..." in words: = is both, + the chain alone, ! doubted, ? skipped,
  // ~ likely, a call's address behind /.
  static std::string Text(const SampledStack& stack) {
    std::string text;
    for (const SampledFrame& frame : stack.frames) {
      if (!text.empty()) text += ' ';
      if (frame.is_kernel) text += 'k';
      if (frame.is_doubted) text += '!';
      if (frame.is_skipped) text += '?';
      if (frame.sources == SampledFrame::kBefore) text += '~';
      const bool has_chain = (frame.sources & SampledFrame::kChain) != 0;
      if (!frame.is_exact && has_chain) text += frame.call != 0 ? "=" : "+";
      text += Hex(frame.address).substr(2);
      if (frame.call != 0) text += "/" + Hex(frame.call).substr(2);
    }
    return text;
  }
  std::string TextOf(const CallSample& sample, uint64_t depth = 32) {
    return Text(SampledStackReader({.depth = depth}).Of(sample, space_));
  }

  std::vector<uint8_t> code_;
  std::vector<std::unique_ptr<std::vector<uint64_t>>> kept_;
  AddressSpace space_;
};

const Branch kMainToF = {0x1000, 0x1020};
const Branch kFToG = {0x1020, 0x1040};
const Branch kGToH = {0x1040, 0x1060};

TEST_F(SampledStacks, OfACallchain) {
  EXPECT_EQ(TextOf(Sample(0x1060, {kCallchainUser, 0x1060, 0x1045, 0x1025, 0x1005})),
            "1060 +1045 +1025 +1005");
}

TEST_F(SampledStacks, KernelFirstThenTheUserWhoCalledIt) {
  EXPECT_EQ(TextOf(Sample(kKernelPlace, {kKernelMark, kKernelPlace, kKernelPlace + 0x100,
                                         kCallchainUser, 0x1060, 0x1045})),
            "kffffffff81000010 k+ffffffff81000110 1060 +1045");
}

// Where the user's code stood when the kernel took over, only a callchain shows.
TEST_F(SampledStacks, OfAnIpInTheKernelTheUsersPlaceIsNotKnown) {
  CallSample sample = Calls(kKernelPlace, {kGToH});
  EXPECT_EQ(TextOf(sample), "kffffffff81000010 0 1045/1040");
  EXPECT_EQ(TextOf(Sample(kKernelPlace)), "kffffffff81000010");
  EXPECT_EQ(TextOf(Sample(0)), "");
}

TEST_F(SampledStacks, OfTheHardwaresCalls) {
  const SampledStack stack =
      SampledStackReader({.depth = 32}).Of(Calls(0x1060, {kGToH, kFToG, kMainToF}), space_);
  EXPECT_EQ(Text(stack), "1060 1045/1040 1025/1020 1005/1000");
  EXPECT_EQ(stack.frames[1].entry, 0x1060u);
  EXPECT_FALSE(stack.is_full);
  EXPECT_EQ(stack.Disagreements(), 0u);
}

TEST_F(SampledStacks, BothAgree) {
  EXPECT_EQ(TextOf(Calls(0x1060, {kGToH, kFToG, kMainToF},
                         {kCallchainUser, 0x1060, 0x1045, 0x1025, 0x1005, 0x9999})),
            "1060 =1045/1040 =1025/1020 =1005/1000 +9999");
}

// A function without a frame hides its caller from frame pointers.
TEST_F(SampledStacks, WhatTheCallchainSkipsIsThere) {
  const SampledStack stack =
      SampledStackReader({.depth = 32})
          .Of(Calls(0x1060, {kGToH, kFToG, kMainToF}, {kCallchainUser, 0x1060, 0x1025, 0x1005}),
              space_);
  EXPECT_EQ(Text(stack), "1060 ?1045/1040 =1025/1020 =1005/1000");
  EXPECT_EQ(stack.Disagreements(), 1u);
}

TEST_F(SampledStacks, WhatTheHardwareDidNotSeeIsDoubted) {
  EXPECT_EQ(
      TextOf(Calls(0x1060, {kGToH, kMainToF}, {kCallchainUser, 0x1060, 0x1045, 0xdead, 0x1005})),
      "1060 =1045/1040 !+dead =1005/1000");
  EXPECT_EQ(TextOf(Calls(0x1060, {kGToH, kFToG}, {kCallchainUser, 0x1060, 0xdead, 0xbeef})),
            "1060 1045/1040 1025/1020 !+dead !+beef");
}

// Beyond the hardware's depth the callchain goes on.
TEST_F(SampledStacks, AFullStackIsContinued) {
  const SampledStack stack =
      SampledStackReader({.depth = 2})
          .Of(Calls(0x1060, {kGToH, kFToG}, {kCallchainUser, 0x1060, 0x1045, 0x1025, 0x1005}),
              space_);
  EXPECT_TRUE(stack.is_full);
  EXPECT_EQ(Text(stack), "1060 =1045/1040 =1025/1020 +1005");
}

// Without code a call can be that of any address it may return to.
TEST_F(SampledStacks, WithoutCode) {
  EXPECT_EQ(TextOf(Calls(0x7060, {{0x7040, 0x7060}, {0x7020, 0x7040}},
                         {kCallchainUser, 0x7060, 0x7047, 0x7090})),
            "7060 =7047/7040 0/7020 !+7090");
}

TEST_F(SampledStacks, RecursionIsMatchedInOrder) {
  const Branch to_self = {0x1020, 0x1020};
  EXPECT_EQ(TextOf(Calls(0x1060, {to_self, to_self, kMainToF},
                         {kCallchainUser, 0x1060, 0x1025, 0x1025, 0x1005})),
            "1060 =1025/1020 =1025/1020 =1005/1000");
}

TEST_F(SampledStacks, OfTheLastBranches) {
  CallSample sample = Sample(0x1045, {kCallchainUser, 0x1045, 0x1005});
  // main calls f, f calls g, g calls h, which returned.
  sample.branches = Branches({{0x1061, 0x1045}, kGToH, kFToG, kMainToF});
  EXPECT_EQ(TextOf(sample), "1045 ?1025/1020 =1005/1000");
  // An older return than its call says nothing; the kernel ends what is known.
  sample = Sample(0x1060);
  sample.branches = Branches({kGToH, {0, 0x1040}, {0x1030, 0}, kFToG, kMainToF});
  EXPECT_EQ(TextOf(sample), "1060 1045/1040");
  sample.branches = Branches({kGToH, {0x7000, 0x1040}, kFToG});
  EXPECT_EQ(TextOf(sample), "1060 1045/1040") << "there is no code at 7000";
}

// A ring of two: main's call has been overwritten by g's.
TEST_F(SampledStacks, StitchedToTheSampleBefore) {
  SampledStackReader reader({.depth = 2, .stitch = true});
  const SampledStack before = reader.Of(InRing(1, {kFToG, kMainToF}), space_);
  EXPECT_EQ(before.stitch, Stitch::kNoOverlap);
  const SampledStack stack = reader.Of(InRing(0, {kGToH, kFToG}), space_);
  EXPECT_EQ(stack.stitch, Stitch::kStitched);
  EXPECT_EQ(Text(stack), "1060 1045/1040 1025/1020 ~1005/1000");
  // Another place in the ring, or another call in it.
  EXPECT_EQ(reader.Of(InRing(1, {kGToH, kFToG}), space_).stitch, Stitch::kNoOverlap);
  EXPECT_EQ(reader.Of(InRing(0, {kGToH, {0x1030, 0x1040}}), space_).stitch, Stitch::kNoOverlap);
  // Stacks that are not full have all their calls.
  EXPECT_EQ(reader.Of(InRing(0, {kGToH}), space_).stitch, Stitch::kNotTried);
}

TEST_F(SampledStacks, ThatCallThemselvesAreNotStitched) {
  const Branch to_self = {0x1020, 0x1020};
  SampledStackReader reader({.depth = 2, .stitch = true});
  reader.Of(InRing(1, {to_self, kMainToF}), space_);
  // The oldest is one of the two calls to itself: which, nobody knows.
  EXPECT_EQ(reader.Of(InRing(0, {to_self, to_self}), space_).stitch, Stitch::kAmbiguous);
  EXPECT_EQ(reader.Of(InRing(1, {kGToH, to_self}), space_).stitch, Stitch::kAmbiguous);
}

TEST_F(SampledStacks, AreNotStitchedUnasked) {
  SampledStackReader reader({.depth = 2});
  reader.Of(InRing(1, {kFToG, kMainToF}), space_);
  EXPECT_EQ(Text(reader.Of(InRing(0, {kGToH, kFToG}), space_)), "1060 1045/1040 1025/1020");
}

TEST_F(SampledStacks, ArchitecturalRegistersHaveNoPlaceToStitchBy) {
  SampledStackReader reader({.depth = 2, .stitch = true});
  reader.Of(Calls(0x1060, {kFToG, kMainToF}), space_);
  EXPECT_EQ(reader.Of(Calls(0x1060, {kGToH, kFToG}), space_).stitch, Stitch::kNoSlots);
}

}  // namespace
}  // namespace flowback
