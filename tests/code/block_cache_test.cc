// SPDX-License-Identifier: MIT
#include "decode/code/cache/block_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "decode/instruction/classify.h"

namespace flowback {
namespace {

using Code = std::vector<uint8_t>;
using Stop = StaticBlock::Stop;

// What a block must be, decoded anew from its offset.
struct Expected {
  std::vector<uint8_t> lengths;
  Stop stop = Stop::kLimit;
  Instruction last;
};

Expected DecodeAnew(const Code& code, uint64_t offset, CodeMode mode) {
  Expected block;
  while (block.lengths.size() < StaticBlock::kMaxInstructions) {
    const Bytes rest = Slice(code, offset, TraitsOf(mode).longest_instruction);
    Instruction instruction;
    if (!Classify(rest, mode, instruction)) {
      block.stop =
          rest.size() < TraitsOf(mode).longest_instruction ? Stop::kSectionEnd : Stop::kBad;
      return block;
    }
    block.lengths.push_back(instruction.length);
    block.last = instruction;
    offset += instruction.length;
    const bool special = (instruction.flags & ~(kFlagRep | kFlagZeroCall | kFlagSyscall)) != 0;
    if (instruction.kind != InstructionClass::kOther || special) {
      block.stop = instruction.kind != InstructionClass::kOther ? Stop::kBranch : Stop::kSpecial;
      return block;
    }
  }
  return block;
}

FlowDigest DigestAt(uint64_t address, const std::vector<uint8_t>& lengths) {
  FlowDigest digest;
  for (const uint8_t length : lengths) {
    digest.Append(address);
    address += length;
  }
  return digest;
}

void ExpectRight(const Code& code, const StaticBlock& block, uint64_t offset, CodeMode mode) {
  const Expected expected = DecodeAnew(code, offset, mode);
  ASSERT_EQ(block.count, expected.lengths.size()) << "at offset " << offset;
  EXPECT_TRUE(std::equal(expected.lengths.begin(), expected.lengths.end(), &block.lengths[0]));
  EXPECT_EQ(block.offset, offset);
  EXPECT_EQ(block.stop, expected.stop) << "at offset " << offset;
  EXPECT_EQ(block.last.length, expected.last.length);
  EXPECT_EQ(block.last.kind, expected.last.kind);
  EXPECT_EQ(block.last.flags, expected.last.flags);
  uint32_t size = 0;
  for (const uint8_t length : expected.lengths) size += length;
  EXPECT_EQ(block.size, size);
  constexpr uint64_t kAddress = 0x7ffff7dc1234;
  EXPECT_EQ(block.At(kAddress), DigestAt(kAddress, expected.lengths));
  EXPECT_EQ(block.power(), FlowDigest::Power(block.count));
}

Code Nops(size_t count) { return Code(count, 0x90); }

Code operator+(Code left, const Code& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Code RandomCode(unsigned seed, size_t size) {
  std::mt19937 random(seed);
  // Mostly instructions without a branch, so that blocks grow long and overlap.
  const Code pieces[] = {{0x90},       {0x48, 0x89, 0xc3}, {0x48, 0x8d, 0x04, 0x25, 1, 2, 3, 4},
                         {0x31, 0xc0}, {0xf3, 0xa4},       {0x0f, 0x1f, 0x44, 0x00, 0x00}};
  const Code ends[] = {{0x75, 0x10},       {0xc3}, {0xe8, 0, 0, 0, 0}, {0xf3, 0x0f, 0xae, 0xe0},
                       {0x0f, 0x22, 0xd8}, {0x06}, {0x0f, 0x05}};
  Code code;
  while (code.size() < size)
    code = std::move(code) + (random() % 100 == 0 ? ends[random() % std::size(ends)]
                                                  : pieces[random() % std::size(pieces)]);
  return code;
}

TEST(BlockCache, EndsAtTheFirstBranch) {
  const Code code = Nops(3) + Code{0x75, 0xfe} + Nops(20);
  BlockCache cache(code);
  const StaticBlock* block = cache.Get(0, CodeMode::kX86_64);
  EXPECT_EQ(block->count, 4);
  EXPECT_EQ(block->size, 5u);
  EXPECT_EQ(block->stop, Stop::kBranch);
  EXPECT_EQ(block->last.kind, InstructionClass::kConditional);
  EXPECT_EQ(block->last.Target(0x1003), 0x1003u);
}

TEST(BlockCache, GivesTheSameObjectEveryTime) {
  const Code code = Nops(8) + Code{0xc3};
  BlockCache cache(code);
  const StaticBlock* whole = cache.Get(0, CodeMode::kX86_64);
  const StaticBlock* tail = cache.Get(5, CodeMode::kX86_64);
  EXPECT_EQ(cache.Get(0, CodeMode::kX86_64), whole);
  EXPECT_EQ(cache.Get(5, CodeMode::kX86_64), tail);
  EXPECT_NE(tail, whole);
}

TEST(BlockCache, KeepsModesApart) {
  const Code code =
      Code{0x40, 0x90, 0xc3} + Nops(15);  // INC, NOP in 32-bit mode; REX NOP in 64-bit
  BlockCache cache(code);
  EXPECT_EQ(cache.Get(0, CodeMode::kX86_64)->count, 2);
  EXPECT_EQ(cache.Get(0, CodeMode::kX86_32)->count, 3);
  EXPECT_EQ(cache.Get(0, CodeMode::kX86_16)->count, 3);
}

TEST(BlockCache, StopsWhereBytesAreNoInstruction) {
  const Code code = Nops(2) + Code{0x06} + Nops(20);
  BlockCache cache(code);
  EXPECT_EQ(cache.Get(0, CodeMode::kX86_64)->stop, Stop::kBad);
  EXPECT_EQ(cache.Get(0, CodeMode::kX86_64)->count, 2);
  EXPECT_EQ(cache.Get(2, CodeMode::kX86_64)->stop, Stop::kBad);
  EXPECT_EQ(cache.Get(2, CodeMode::kX86_64)->count, 0);
}

TEST(BlockCache, StopsAtTheSectionsEnd) {
  const Code code = Nops(2) + Code{0xe8, 0x00};  // a call, cut
  BlockCache cache(code);
  const StaticBlock* block = cache.Get(0, CodeMode::kX86_64);
  EXPECT_EQ(block->stop, Stop::kSectionEnd);
  EXPECT_EQ(block->count, 2);
  EXPECT_EQ(block->last.kind, InstructionClass::kOther);
  for (const uint64_t past : {uint64_t{4}, uint64_t{5}, ~uint64_t{0}}) {
    EXPECT_EQ(cache.Get(past, CodeMode::kX86_64)->count, 0);
    EXPECT_EQ(cache.Get(past, CodeMode::kX86_64)->stop, Stop::kSectionEnd);
  }
  BlockCache empty(Bytes{});
  EXPECT_EQ(empty.Get(0, CodeMode::kX86_64)->stop, Stop::kSectionEnd);
}

TEST(BlockCache, CutsLongBlocksAtTheLimitWhateverWasAskedBefore) {
  const Code code = Nops(700) + Code{0xc3} + Nops(15);
  BlockCache cache(code);
  for (const uint64_t offset : {0u, 100u, 90u, 444u, 445u, 446u, 256u, 10u, 699u, 700u})
    ExpectRight(code, *cache.Get(offset, CodeMode::kX86_64), offset, CodeMode::kX86_64);
}

TEST(BlockCache, LimitBehindARepeatedStringInstructionKeepsItsFlag) {
  const Code code = Nops(255) + Code{0xf3, 0xa4} + Nops(300);
  BlockCache cache(code);
  ExpectRight(code, *cache.Get(100, CodeMode::kX86_64), 100, CodeMode::kX86_64);
  EXPECT_EQ(cache.Get(0, CodeMode::kX86_64)->last.flags, kFlagRep);
  ExpectRight(code, *cache.Get(0, CodeMode::kX86_64), 0, CodeMode::kX86_64);
}

TEST(BlockCache, EqualsDecodingAnewInAnyOrderOfRequests) {
  const Code code = RandomCode(1, 20000);
  for (const CodeMode mode : kCodeModes) {
    BlockCache cache(code);
    std::vector<uint64_t> offsets(code.size());
    for (size_t i = 0; i < offsets.size(); ++i) offsets[i] = i;
    std::shuffle(offsets.begin(), offsets.end(), std::mt19937(2));
    for (const uint64_t offset : offsets) {
      ExpectRight(code, *cache.Get(offset, mode), offset, mode);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(BlockCache, ManyThreadsGetTheSameBlocks) {
  const Code code = RandomCode(3, 30000);
  BlockCache cache(code);
  constexpr unsigned kThreads = 4;
  std::vector<std::vector<const StaticBlock*>> seen(kThreads);
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::vector<uint64_t> offsets(code.size());
        for (size_t i = 0; i < offsets.size(); ++i) offsets[i] = i;
        std::shuffle(offsets.begin(), offsets.end(), std::mt19937(t));
        seen[t].resize(code.size());
        for (const uint64_t offset : offsets)
          seen[t][offset] = cache.Get(offset, CodeMode::kX86_64);
      });
    }
  }
  for (unsigned t = 1; t < kThreads; ++t) EXPECT_EQ(seen[t], seen[0]);
  for (uint64_t offset = 0; offset < code.size(); offset += 37)
    ExpectRight(code, *seen[0][offset], offset, CodeMode::kX86_64);
}

}  // namespace
}  // namespace flowback
