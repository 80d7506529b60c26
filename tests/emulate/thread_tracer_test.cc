// SPDX-License-Identifier: MIT
// Blocks become the packets that the same instructions one by one become.
#include "capture/emulate/thread_tracer.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <random>

#include "decode/instruction/classify.h"
#include "tests/emulate/test_area.h"

namespace flowback::emulate {
namespace {

constexpr record::PtSettings kSettings{.psb_period_bytes = 2048,
                                       .long_tnt = true,
                                       .short_tnt_where_smaller = true,
                                       .timestamps = false};

enum class End { kBranch, kJump, kCall, kReturn, kIndirect, kNone };

// Blocks of random size and end, one behind the other; every target is a block's start.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {
    constexpr size_t kBlocks = 60;
    std::vector<size_t> nops;
    std::vector<End> ends;
    starts_.push_back(0x400000);
    for (size_t i = 0; i < kBlocks; ++i) {
      nops.push_back(Number(4) + (i == 0 ? 1 : 0));
      ends.push_back(static_cast<End>(Number(6)));
      if (ends.back() == End::kNone) ++nops.back();  // not empty
      starts_.push_back(starts_.back() + nops.back() + Size(ends.back()));
    }
    for (size_t i = 0; i < kBlocks; ++i) AddBlock(i, nops[i], ends[i]);
  }

  size_t Number(size_t below) { return random_() % below; }
  const Block& At(uint64_t address) { return *blocks_.at(address); }
  const Block& first() { return At(starts_[0]); }

  // Where control goes from the end of `block`; follows calls, most of the time.
  uint64_t Next(const Block& block) {
    switch (block.kind) {
      case BlockEnd::kConditional:
        return Number(2) == 0 ? block.target : block.end;
      case BlockEnd::kSequential:
        return block.end;
      case BlockEnd::kCall:
        calls_.push_back(block.end);
        return block.target;
      case BlockEnd::kReturn:
        if (!calls_.empty() && Number(8) != 0) {
          const uint64_t to = calls_.back();
          calls_.pop_back();
          return to;
        }
        return Anywhere();
      case BlockEnd::kJump:
        return block.target;
      default:
        return Anywhere();
    }
  }

 private:
  static size_t Size(End end) {
    constexpr size_t kSizes[] = {6, 5, 5, 1, 2, 0};
    return kSizes[static_cast<size_t>(end)];
  }
  uint64_t Anywhere() { return starts_[Number(starts_.size() - 1)]; }

  void AddBlock(size_t i, size_t nops, End end) {
    // The last block must not run out of the program.
    if (i + 2 == starts_.size()) end = End::kIndirect;
    std::vector<uint8_t> code(nops, 0x90);
    std::vector<uint8_t> lengths(nops, 1);
    const uint64_t after = starts_[i] + nops + Size(end);
    uint64_t target = Anywhere();
    // A branch to the next instruction shows nothing, and is a loss.
    while (end == End::kBranch && target == after) target = Anywhere();
    const auto displacement = static_cast<uint32_t>(target - after);
    const std::vector<uint8_t> opcodes[] = {{0x0f, 0x84}, {0xe9}, {0xe8}, {0xc3}, {0xff, 0xe0}, {}};
    const auto& opcode = opcodes[static_cast<size_t>(end)];
    code.insert(code.end(), opcode.begin(), opcode.end());
    if (end == End::kBranch || end == End::kJump || end == End::kCall)
      for (unsigned byte = 0; byte < 4; ++byte)
        code.push_back(static_cast<uint8_t>(displacement >> (8 * byte)));
    if (end != End::kNone) lengths.push_back(static_cast<uint8_t>(Size(end)));
    blocks_[starts_[i]] = DescribeBlock(starts_[i], code, lengths);
  }

  std::mt19937 random_;
  std::vector<uint64_t> starts_;
  std::map<uint64_t, std::unique_ptr<Block>> blocks_;
  std::vector<uint64_t> calls_;
};

class Tracer : public testing::Test {
 protected:
  void Enter(const Block& block) {
    if (tracer_.EnterQuickly(block))
      ++quick_;
    else if (!tracer_.EnterLessQuickly(block))
      tracer_.Enter(block);
  }
  // As bytes, including the outcomes without a packet yet.
  std::vector<uint8_t> TakeAll() {
    std::vector<uint8_t> bytes = area_.TakeTrace();
    pt::PacketWriter writer({.long_tnt = true, .short_where_smaller = true});
    writer.SetPending(PendingOf(area_.slot().LastFlow(area_.slot().trace).pending));
    writer.FlushTnt();
    bytes.insert(bytes.end(), writer.bytes().begin(), writer.bytes().end());
    return bytes;
  }
  FlowDigest digest() {
    const record::ThreadProgress& flow = area_.slot().LastFlow(area_.slot().trace);
    return {.count = flow.count, .hash = flow.hash};
  }

  TestArea area_;
  record::TraceClock clock_{TimeConversion{.shift = 0, .mult = 1, .zero = 0}, 2'500'000'000};
  ThreadTracer tracer_{kSettings, clock_, SlotWriter::Take(area_.area(), 1, 2), 2, std::nullopt};
  size_t quick_ = 0;
};

void RunOneByOne(const Block& block, uint64_t next, record::PacketGenerator& generator) {
  uint64_t ip = block.start;
  for (size_t i = 0; i < block.lengths.size(); ++i) {
    Instruction instruction{.length = block.lengths[i]};
    const uint64_t after = ip + block.lengths[i];
    const bool last = i + 1 == block.lengths.size();
    if (last) instruction = block.last;
    const uint64_t to = last ? next : after;
    generator.Completed(instruction, ip, CodeMode::kX86_64,
                        block.kind == BlockEnd::kConditional && last && to == block.target, to,
                        CodeMode::kX86_64);
    ip = after;
  }
}

TEST_F(Tracer, WritesWhatInstructionsOneByOneDo) {
  size_t quick = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    TestArea area;
    ThreadTracer tracer(kSettings, clock_, SlotWriter::Take(area.area(), 1, 2), 2);
    RandomProgram program(seed);
    record::PacketGenerator truth(kSettings, clock_);
    const Block* block = &program.first();
    std::vector<uint8_t> bytes;
    for (int i = 0; i < 20'000; ++i) {
      if (tracer.EnterQuickly(*block))
        ++quick;
      else if (!tracer.EnterLessQuickly(*block))
        tracer.Enter(*block);
      const uint64_t next = program.Next(*block);
      if (i + 1 < 20'000) RunOneByOne(*block, next, truth);
      block = &program.At(next);
      const std::vector<uint8_t> more = area.TakeTrace();
      bytes.insert(bytes.end(), more.begin(), more.end());
    }
    const record::ThreadProgress& flow = area.slot().LastFlow(area.slot().trace);
    EXPECT_EQ((FlowDigest{.count = flow.count, .hash = flow.hash}), truth.digest());
    EXPECT_EQ(PendingOf(flow.pending).bits, truth.pending().bits);
    EXPECT_EQ(PendingOf(flow.pending).count, truth.pending().count);
    ASSERT_EQ(bytes, std::vector<uint8_t>(truth.bytes().begin(), truth.bytes().end()));
  }
  EXPECT_GT(quick, 100'000u);
}

// 0x1000: mov (%rax), %edx; dec %ecx; jnz 0x1000
class SelfLoop : public Tracer {
 protected:
  SelfLoop() {
    Enter(*loop_);
    Enter(*loop_);  // ran once
    area_.TakeTrace();
  }
  const std::unique_ptr<Block> loop_ =
      DescribeBlock(0x1000, std::vector<uint8_t>{0x8b, 0x10, 0xff, 0xc9, 0x75, 0xfa}, {2, 2, 2});
};

TEST_F(SelfLoop, AFaultDoesNotCount) {
  tracer_.OnHostFault(false, 0);
  EXPECT_EQ(tracer_.Faulted(), true);
  tracer_.Die({.ip = 0x1000, .signal = SIGSEGV, .fault = tracer_.Faulted()});
  EXPECT_EQ(digest().count, 3u);
  EXPECT_TRUE(tracer_.in_kernel());
  EXPECT_EQ(area_.TakeTrace().back(), 0x01);  // TIP.PGD
}

TEST_F(SelfLoop, ASignalBetweenTwoRoundsCounts) {
  tracer_.OnHostFault(false, 0);
  tracer_.OnHostFault(true, 0);  // made possible after all
  EXPECT_EQ(tracer_.Faulted(), false);
  tracer_.Die({.ip = 0x1000, .signal = SIGTERM, .fault = false});
  EXPECT_EQ(digest().count, 6u);
}

TEST_F(SelfLoop, WhatCannotBeToldApartIsNotTold) {
  tracer_.Die({.ip = 0x1000, .signal = SIGTRAP, .fault = std::nullopt});
  EXPECT_EQ(digest().count, 3u);
  EXPECT_FALSE(tracer_.in_kernel());
  EXPECT_TRUE(area_.TakeTrace().empty());
}

TEST_F(SelfLoop, NorWhatTheCodeContradicts) {
  tracer_.Die({.ip = 0x1001, .signal = SIGSEGV, .fault = true});
  EXPECT_FALSE(tracer_.in_kernel());
  tracer_.Die({.ip = 0x2000, .signal = SIGTERM, .fault = false});
  EXPECT_FALSE(tracer_.in_kernel());
}

TEST_F(SelfLoop, AttentionEndsTheQuickWay) {
  EXPECT_TRUE(tracer_.EnterQuickly(*loop_));
  tracer_.CallAttention(record::kAttentionEnd);
  EXPECT_FALSE(tracer_.EnterQuickly(*loop_));
  EXPECT_FALSE(tracer_.EnterLessQuickly(*loop_));
  tracer_.Enter(*loop_);
  tracer_.Leave();
  EXPECT_EQ(digest().count, 9u);
  EXPECT_EQ(area_.TakeTrace().back(), 0x01);
  tracer_.End(true);
  EXPECT_FALSE(tracer_.open());
  EXPECT_FALSE(tracer_.EnterQuickly(*loop_));
  EXPECT_FALSE(tracer_.CallAttention(record::kAttentionEnd));
}

TEST_F(SelfLoop, SyncIsAPsb) {
  tracer_.Sync();
  const std::vector<uint8_t> bytes = area_.TakeTrace();
  const std::vector<uint8_t> psb = {0x02, 0x82, 0x02, 0x82};
  EXPECT_NE(std::search(bytes.begin(), bytes.end(), psb.begin(), psb.end()), bytes.end());
  EXPECT_EQ(digest().count, 3u);
  EXPECT_TRUE(tracer_.EnterQuickly(*loop_));
}

TEST_F(SelfLoop, AnUnknownPlaceIsALoss) {
  const auto elsewhere = DescribeBlock(0x3000, std::vector<uint8_t>{0xc3}, {1});
  Enter(*elsewhere);
  EXPECT_EQ(area_.area().losses, 1u);
  const std::vector<uint8_t> bytes = area_.TakeTrace();
  const std::vector<uint8_t> ovf = {0x02, 0xf3};
  EXPECT_NE(std::search(bytes.begin(), bytes.end(), ovf.begin(), ovf.end()), bytes.end());
}

TEST_F(Tracer, IterationsAreOneInstruction) {
  const auto rep = DescribeBlock(0x1000, std::vector<uint8_t>{0xf3, 0xa4}, {2});  // rep movsb
  const auto after = DescribeBlock(0x1002, std::vector<uint8_t>{0xc3}, {1});
  for (int i = 0; i < 5; ++i) Enter(*rep);
  EXPECT_EQ(digest().count, 0u);
  Enter(*after);
  EXPECT_EQ(digest().count, 1u);
}

TEST_F(Tracer, ABlockLeftMidway) {
  const auto block = DescribeBlock(0x1000, std::vector<uint8_t>{0x90, 0x90, 0x90}, {1, 1, 1});
  const auto part = DescribeBlock(0x1001, std::vector<uint8_t>{0x90}, {1});
  Enter(*block);
  Enter(*part);
  EXPECT_EQ(digest().count, 1u);
}

TEST_F(Tracer, SystemCallsSwitchOff) {
  const auto call = DescribeBlock(0x1000, std::vector<uint8_t>{0x90, 0x0f, 0x05}, {1, 2});
  Enter(*call);
  EXPECT_FALSE(tracer_.in_kernel());
  tracer_.EnterKernel();
  EXPECT_TRUE(tracer_.in_kernel());
  EXPECT_EQ(digest().count, 2u);
  EXPECT_EQ(area_.TakeTrace().back(), 0x01);
  tracer_.EnterKernel();  // nothing to record
  EXPECT_TRUE(area_.TakeTrace().empty());
}

TEST(ClosedTracer, DoesNothing) {
  record::TraceClock clock{TimeConversion{.shift = 0, .mult = 1, .zero = 0}, 2'500'000'000};
  ThreadTracer tracer(kSettings, clock, SlotWriter(), 2);
  const auto block = DescribeBlock(0x1000, std::vector<uint8_t>{0xc3}, {1});
  EXPECT_FALSE(tracer.open());
  EXPECT_FALSE(tracer.EnterQuickly(*block));
  EXPECT_FALSE(tracer.EnterLessQuickly(*block));
  tracer.EnterKernel();
  tracer.Leave();
  tracer.Sync();
  tracer.OnHostFault(false, 0);
  tracer.Die({.ip = 0x1000, .signal = SIGSEGV, .fault = true});
  tracer.End(true);
}

}  // namespace
}  // namespace flowback::emulate
