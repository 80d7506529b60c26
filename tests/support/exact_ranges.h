// SPDX-License-Identifier: MIT
// Ranges of code that a decoder counts are those that its blocks, one by one, make up.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "decode/pt/native_decoder.h"
#include "flowback/decode/decoder.h"
#include "flowback/model/block_batch.h"
#include "flowback/model/range_consumer.h"

namespace flowback::deliveries {

// Sums of ranges, whichever way they come; events and losses in their order.
class RangeSums final : public ExecutionConsumer, public RangeConsumer {
 public:
  struct Sums {
    using Range = std::tuple<uint64_t, uint64_t, uint64_t>;
    std::map<Range, uint64_t> taken;   // begin, the branch, its target
    std::map<Range, uint64_t> broken;  // begin, the last instruction, 0
    std::map<uint64_t, uint64_t> not_taken;
    uint64_t instructions = 0;
    std::vector<uint64_t> others;  // offsets of events, begins of losses

    bool operator==(const Sums&) const = default;
  };

  explicit RangeSums(bool counts) : counts_(counts) {}

  RangeConsumer* ranges() override { return counts_ ? this : nullptr; }
  void OnBlock(const BlockRun& run) override {
    if (run.lengths.empty()) return;
    if (run.address != next_) Break();
    if (begin_ == 0) begin_ = run.address;
    last_ = run.LastAddress();
    next_ = run.next;
    sums_.instructions += run.lengths.size();
    if (run.exit == BlockExit::kNotTaken) ++sums_.not_taken[last_];
    if (run.exit != BlockExit::kTaken && run.exit != BlockExit::kStopped) return;
    ++sums_.taken[{begin_, last_, run.next}];
    begin_ = 0;
  }
  void OnEvent(const TraceEvent& event) override { Other(event.offset); }
  void OnLoss(const DataLoss& loss) override { Other(loss.begin); }

  uint32_t OnNewRange(const BlockTable& table, std::span<const BlockStep> steps,
                      BlockStep next) override {
    Known known;
    known.range = {table[steps.front().number()].address,
                   table[steps.back().number()].LastAddress(), table[next.number()].address};
    uint64_t expected = table[steps.front().number()].address;
    for (const BlockStep& step : steps) {
      const CodeBlock& block = table[step.number()];
      EXPECT_EQ(block.address, expected);
      expected += block.size;
      known.instructions += block.count;
      EXPECT_EQ(step.taken(), &step == &steps.back());
      if (!step.taken() && block.last == InstructionClass::kConditional)
        known.not_taken.push_back(block.LastAddress());
    }
    known_.push_back(known);
    return static_cast<uint32_t>(known_.size() - 1);
  }
  void OnRange(uint32_t range, uint64_t times) override {
    const Known& known = known_.at(range);
    sums_.taken[known.range] += times;
    sums_.instructions += known.instructions * times;
    for (const uint64_t branch : known.not_taken) sums_.not_taken[branch] += times;
    counted_ += times;
  }
  void OnRangesEnd(const BlockTable& table, std::span<const BlockStep> steps,
                   uint64_t next) override {
    EXPECT_EQ(begin_, 0u) << "a range is at hand";
    next_ = next;
    if (steps.back().taken()) return;
    next_ = table[steps.front().number()].address;
    BlockBatch batch;
    batch.steps = steps;
    batch.table = &table;
    batch.next = next;
    for (BlockRuns runs(batch); runs.Next();) OnBlock(runs.run());
  }

  const Sums& Finish() {
    Break();
    return sums_;
  }
  uint64_t counted() const { return counted_; }

 private:
  struct Known {
    Sums::Range range;
    uint64_t instructions = 0;
    std::vector<uint64_t> not_taken;
  };

  void Other(uint64_t place) {
    Break();
    sums_.others.push_back(place);
  }
  void Break() {
    if (begin_ != 0) ++sums_.broken[{begin_, last_, 0}];
    begin_ = 0;
    next_ = 0;
  }

  const bool counts_;
  Sums sums_;
  std::vector<Known> known_;
  uint64_t counted_ = 0;
  uint64_t begin_ = 0;  // of the range at hand; 0: none is
  uint64_t last_ = 0;   // its last instruction so far
  uint64_t next_ = 0;   // where control went
};

// Compares the two ways. The decoders may be warm.
class RangeComparison {
 public:
  void ExpectSame(DecodeInput input) {
    input.times = false;
    ASSERT_FALSE(one_by_one_->CountsRanges(input));
    ASSERT_TRUE(counts_->CountsRanges(input));
    RangeSums blocks(false);
    RangeSums ranges(true);
    const Result<ByteAccount> one = one_by_one_->Decode(input, blocks);
    const Result<ByteAccount> counted = counts_->Decode(input, ranges);
    ASSERT_TRUE(one && counted);
    EXPECT_EQ(std::tuple(one->decoded, one->padding, one->lost),
              std::tuple(counted->decoded, counted->padding, counted->lost));
    const RangeSums::Sums& a = blocks.Finish();
    const RangeSums::Sums& b = ranges.Finish();
    EXPECT_EQ(a.instructions, b.instructions);
    EXPECT_EQ(a.taken, b.taken);
    EXPECT_EQ(a.broken, b.broken);
    EXPECT_EQ(a.not_taken, b.not_taken);
    EXPECT_EQ(a.others, b.others);
    EXPECT_EQ(blocks.counted(), 0u);
    counted_ += ranges.counted();
  }
  // How many executions of ranges were counted, and not handed on.
  uint64_t counted() const { return counted_; }

 private:
  std::unique_ptr<Decoder> one_by_one_ = pt::MakeNativeDecoder(pt::Delivery::kOneByOne);
  std::unique_ptr<Decoder> counts_ = pt::MakeNativeDecoder(pt::Delivery::kBatches);
  uint64_t counted_ = 0;
};

}  // namespace flowback::deliveries
