// SPDX-License-Identifier: MIT
// Sums of branches that are counted many blocks at a time are those that are counted block by
// block.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "flowback/decode/code_image.h"
#include "flowback/model/block_batch.h"
#include "replay/branches/branch_sums.h"

namespace flowback {
namespace {

constexpr std::array<uint8_t, 3> kThree = {2, 3, 3};

// Walks at random over blocks of three instructions, which lie one behind the other.
class RandomWalk {
 public:
  explicit RandomWalk(uint32_t seed) : random_(seed) {
    constexpr std::array kKinds = {InstructionClass::kConditional,  InstructionClass::kConditional,
                                   InstructionClass::kOther,        InstructionClass::kJump,
                                   InstructionClass::kIndirectCall, InstructionClass::kReturn,
                                   InstructionClass::kConditional,  InstructionClass::kCall};
    table_.Add({});  // no step has number 0
    for (uint32_t i = 0; i < kBlocks; ++i)
      table_.Add({.address = AddressOf(i),
                  .lengths = kThree.data(),
                  .size = kSize,
                  .count = kThree.size(),
                  .last = kKinds[Below(kKinds.size())]});
    for (uint32_t& target : targets_) target = Below(kBlocks);
  }
  const BlockTable& table() const { return table_; }
  uint64_t at() const { return AddressOf(at_); }
  void GoTo(uint32_t block) { at_ = block; }
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  std::vector<BlockStep> Walk(size_t count) {
    std::vector<BlockStep> steps;
    for (; count != 0; --count) steps.push_back(Step());
    return steps;
  }

  static constexpr uint32_t kBlocks = 64;

 private:
  static constexpr uint32_t kSize = 8;
  static uint64_t AddressOf(uint32_t block) { return 0x1000 + uint64_t{block} * kSize; }

  BlockStep Step() {
    const uint32_t block = at_;
    const InstructionClass last = table_[block + 1].last;
    const bool may_stay = last == InstructionClass::kConditional && Below(3) != 0;
    const bool is_end = block + 1 == kBlocks;
    const bool taken = is_end || (last != InstructionClass::kOther && !may_stay);
    at_ = block + 1;
    if (taken) at_ = IsIndirect(last) ? Below(kBlocks) : targets_[block];
    return BlockStep::Of(block + 1, taken);
  }

  std::mt19937 random_;
  AddressSpace space_;
  BlockTable table_{space_, CodeMode::kX86_64};
  std::array<uint32_t, kBlocks> targets_{};
  uint32_t at_ = 0;
};

auto FieldsOf(const BranchEdge& edge) {
  return std::tuple(edge.times, edge.right, edge.wrong, edge.cycles.count());
}

void ExpectSame(const BranchReport& one, const BranchReport& other) {
  EXPECT_EQ(one.arrivals, other.arrivals);
  ASSERT_EQ(one.branches.size(), other.branches.size());
  for (size_t i = 0; i < one.branches.size(); ++i) {
    const BranchSum& a = one.branches[i];
    const BranchSum& b = other.branches[i];
    EXPECT_EQ(std::tuple(a.address, a.kind, a.not_taken, a.elsewhere, FieldsOf(a.taken)),
              std::tuple(b.address, b.kind, b.not_taken, b.elsewhere, FieldsOf(b.taken)));
    ASSERT_EQ(a.edges.size(), b.edges.size());
    for (auto x = a.edges.begin(), y = b.edges.begin(); x != a.edges.end(); ++x, ++y)
      EXPECT_EQ(std::tuple(x->first, FieldsOf(x->second)),
                std::tuple(y->first, FieldsOf(y->second)));
  }
  ASSERT_EQ(one.ranges.size(), other.ranges.size());
  for (size_t i = 0; i < one.ranges.size(); ++i)
    EXPECT_EQ(std::tuple(one.ranges[i].begin, one.ranges[i].end, one.ranges[i].times),
              std::tuple(other.ranges[i].begin, other.ranges[i].end, other.ranges[i].times));
}

TEST(BranchBatches, CountWhatEachBlockAloneCounts) {
  uint64_t lines = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    RandomWalk walk(seed);
    BranchSums together;
    BranchSums alone;
    for (int part = 0; part < 40; ++part) {
      const std::vector<BlockStep> steps = walk.Walk(1 + walk.Below(90));
      BlockBatch batch;
      batch.steps = steps;
      batch.table = &walk.table();
      batch.next = walk.at();
      together.OnBlocks(batch);
      for (BlockRuns runs(batch); runs.Next();) alone.OnBlock(runs.run());
      if (walk.Below(8) == 0) {
        together.OnLoss({});
        alone.OnLoss({});
        walk.GoTo(walk.Below(RandomWalk::kBlocks));
      }
    }
    ASSERT_NO_FATAL_FAILURE(ExpectSame(together.Take(), alone.Take())) << seed;
    if (HasFailure()) return;
    for (const RangeSum& range : alone.Take().ranges) lines += range.times;
  }
  EXPECT_GT(lines, 10'000U);
}

}  // namespace
}  // namespace flowback
