// SPDX-License-Identifier: MIT
#include "capture/emulate/block.h"

#include <gtest/gtest.h>

namespace flowback::emulate {
namespace {

constexpr uint64_t kStart = 0x1000;

std::unique_ptr<Block> Describe(const std::vector<uint8_t>& code, std::vector<uint8_t> lengths) {
  return DescribeBlock(kStart, code, std::move(lengths));
}

BlockEnd KindOf(const std::vector<uint8_t>& code) {
  return Describe(code, {static_cast<uint8_t>(code.size())})->kind;
}

TEST(Block, ABranchHasTwoSuccessorsAndAnOutcome) {
  const auto block = Describe({0x90, 0xff, 0xc8, 0x75, 0xfb}, {1, 2, 2});  // nop; dec; jnz kStart
  EXPECT_EQ(block->kind, BlockEnd::kConditional);
  EXPECT_EQ(block->end, kStart + 5);
  EXPECT_EQ(block->last_ip, kStart + 3);
  EXPECT_EQ(block->when_taken, kStart);
  EXPECT_EQ(block->when_not, kStart + 5);
  EXPECT_EQ(block->outcome_mask, ~uint64_t{0});
  EXPECT_TRUE(block->marks_before & kMarkInside);
  EXPECT_FALSE(block->marks_after & kMarkInside);
}

TEST(Block, OthersHaveOneOrNone) {
  const auto sequential = Describe({0x90, 0x90}, {1, 1});
  EXPECT_EQ(sequential->kind, BlockEnd::kSequential);
  EXPECT_EQ(sequential->when_taken, kStart + 2);
  EXPECT_EQ(sequential->when_not, kStart + 2);
  EXPECT_EQ(sequential->outcome_mask, 0u);
  const auto jump = Describe({0xeb, 0x10}, {2});
  EXPECT_EQ(jump->kind, BlockEnd::kJump);
  EXPECT_EQ(jump->when_taken, kStart + 0x12);
  EXPECT_TRUE(jump->marks_after & kMarkInside);  // one instruction
  const auto back = Describe({0xc3}, {1});
  EXPECT_EQ(back->kind, BlockEnd::kReturn);
  EXPECT_EQ(back->when_taken, Block::kNowhere);
}

TEST(Block, KindsOfEnds) {
  EXPECT_EQ(KindOf({0xe8, 0x10, 0, 0, 0}), BlockEnd::kCall);
  EXPECT_EQ(KindOf({0xe8, 0, 0, 0, 0}), BlockEnd::kJump);  // not on the return stack
  EXPECT_EQ(KindOf({0x74, 0x00}), BlockEnd::kEitherWay);
  EXPECT_EQ(KindOf({0xff, 0xe0}), BlockEnd::kIndirect);
  EXPECT_EQ(KindOf({0x0f, 0x05}), BlockEnd::kKernel);
  EXPECT_EQ(KindOf({0xcc}), BlockEnd::kTrap);
}

TEST(Block, ReadDifferentlyByTheEmulatorIsUnknown) {
  EXPECT_EQ(Describe({0x90, 0x90}, {2})->kind, BlockEnd::kUnknown);
  EXPECT_EQ(Describe({0xc3, 0x90}, {1, 1})->kind, BlockEnd::kUnknown);  // returns in mid-block
  EXPECT_EQ(Describe({0x90}, {1, 1})->kind, BlockEnd::kUnknown);        // no bytes for the second
  EXPECT_EQ(Describe({}, {})->kind, BlockEnd::kUnknown);
}

TEST(Block, DigestOfItsParts) {
  const auto block = Describe({0x90, 0x66, 0x90, 0xc3}, {1, 2, 1});
  FlowDigest all;
  for (const uint64_t ip : {kStart, kStart + 1, kStart + 3}) {
    EXPECT_EQ(block->Prefix(all.count), all);
    EXPECT_EQ(block->IndexOf(ip), all.count);
    all.Append(ip);
  }
  EXPECT_EQ(block->hash, all.hash);
  EXPECT_EQ(block->instructions, 3u);
  EXPECT_EQ(block->power, FlowDigest::Power(3));
  EXPECT_EQ(block->IndexOf(kStart + 2), std::nullopt);
  EXPECT_EQ(block->IndexOf(kStart + 4), std::nullopt);
}

TEST(Block, FirstInstructionsThatMayRaise) {
  EXPECT_TRUE(Describe({0xf7, 0xf1}, {2})->first_may_raise);        // div %ecx
  EXPECT_TRUE(Describe({0x48, 0xf7, 0xf9}, {3})->first_may_raise);  // idiv %rcx
  EXPECT_TRUE(Describe({0xd9, 0xe8}, {2})->first_may_raise);        // fld1
  EXPECT_FALSE(Describe({0x8b, 0x00}, {2})->first_may_raise);       // a memory's fault only
}

TEST(EmulatedBlocks, SameCodeSameBlock) {
  EmulatedBlocks table({});
  const std::vector<uint8_t> code = {0x90, 0xc3};
  const std::vector<uint8_t> other = {0x40, 0xc3};
  Block& block = table.Add(kStart, code, {1, 1});
  EXPECT_EQ(&table.Add(kStart, code, {1, 1}), &block);
  EXPECT_NE(&table.Add(kStart, other, {2}), &block);
  EXPECT_NE(&table.Add(kStart + 1, code, {1, 1}), &block);
  EXPECT_EQ(&table.Add(kStart, code, {1, 1}), &block);
}

TEST(EmulatedBlocks, HandlersBeforeAndAfter) {
  EmulatedBlocks table({});
  const std::vector<uint8_t> code = {0x90, 0xc3};
  Block& before = table.Add(kStart, code, {1, 1});
  EXPECT_FALSE(before.may_be_handler());
  table.AddHandler(kStart);
  table.AddHandler(kStart + 8);
  EXPECT_TRUE(before.may_be_handler());
  EXPECT_TRUE(table.Add(kStart + 8, code, {1, 1}).may_be_handler());
  EXPECT_TRUE(table.IsHandler(kStart + 8));
  EXPECT_FALSE(table.IsHandler(kStart + 1));
}

TEST(EmulatedBlocks, WithoutQuickOutcomesBranchesAreNotQuick) {
  EmulatedBlocks table({.quick_outcomes = false});
  const std::vector<uint8_t> branch = {0x75, 0x10};
  const std::vector<uint8_t> jump = {0xeb, 0x10};
  EXPECT_EQ(table.Add(kStart, branch, {2}).when_not, Block::kNowhere);
  EXPECT_EQ(table.Add(kStart, jump, {2}).when_taken, kStart + 0x12);
}

}  // namespace
}  // namespace flowback::emulate
