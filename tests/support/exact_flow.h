// SPDX-License-Identifier: MIT
// The flow in batches is the flow one by one: in every field, also where the consumer stops early.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/step_times.h"
#include "decode/pt/native_decoder.h"
#include "flowback/decode/decoder.h"
#include "flowback/model/block_batch.h"

namespace flowback::deliveries {

// One number for each piece of the flow, made of all its fields; in words the one that was asked
// for.
class PieceNumbers final : public ExecutionConsumer {
 public:
  static constexpr size_t kAll = ~size_t{0};
  explicit PieceNumbers(size_t stop_after = kAll, size_t shown = kAll)
      : stop_after_(stop_after), shown_(shown) {}

  void OnBlock(const BlockRun& run) override {
    Begin("block");
    Add("address", run.address);
    Add("instructions", run.lengths.size());
    for (const uint8_t length : run.lengths) number_ = (number_ ^ length) * kPrime;
    Add("next", run.next);
    Add("tsc", run.tsc);
    Add("first_tsc", run.first_tsc);
    Add(run.bounds);
    Add("last_lo", run.last_lo);
    Add("exit", static_cast<uint64_t>(run.exit));
    Add("last", static_cast<uint64_t>(run.last));
    Add("mode", static_cast<uint64_t>(run.mode));
    Add("in_transaction", run.in_transaction);
    Add("cycles", run.branch.cycles);
    Add("cycles_told", static_cast<uint64_t>(run.branch.cycles_told));
    Add("cycle_mark", run.cycles.value);
    Add("prediction", static_cast<uint64_t>(run.branch.prediction));
    Add("space", reinterpret_cast<uint64_t>(run.space));
    End(run.stay);
  }
  void OnBlocks(const BlockBatch& batch) override {
    ++batches_;
    ExpectDigest(batch);
    ExpectSteps(batch);
    BlockBatch without = batch;
    without.counts = {};
    ExpectSteps(without);
    ExecutionConsumer::OnBlocks(batch);
  }
  void OnEvent(const TraceEvent& event) override {
    Begin(Name(event.kind));
    Add("kind", static_cast<uint64_t>(event.kind));
    Add("offset", event.offset);
    Add("tsc", event.tsc);
    Add(event.bounds);
    Add("ip", event.ip);
    Add("target", event.target);
    Add("value", event.value);
    Add("extra", event.extra);
    Add("has_ip", event.has_ip);
    Add("cycle_mark", event.cycles.value);
    End(event.stay);
  }
  void OnLoss(const DataLoss& loss) override {
    Begin(Name(loss.cause));
    Add("cause", static_cast<uint64_t>(loss.cause));
    Add("begin", loss.begin);
    Add("end", loss.end);
    Add("tsc", loss.tsc);
    Add(loss.bounds);
    Add("end_tsc", loss.end_tsc);
    Add(loss.end_bounds);
    Add("last_ip", loss.last_ip);
    for (const char letter : loss.detail) Add("detail", static_cast<uint8_t>(letter));
    Add("code", reinterpret_cast<uint64_t>(loss.code.get()));
    End(loss.stay);
  }
  void OnUnknown(const UnknownFlow& unknown) override {
    Begin("unknown");
    Add("offset", unknown.offset);
    Add("from", unknown.from);
    Add("to", unknown.to);
    Add("tsc", unknown.tsc);
    Add(unknown.bounds);
    Add("end_tsc", unknown.end_tsc);
    Add(unknown.end_bounds);
    End(unknown.stay);
  }
  bool Done() const override { return numbers_.size() >= stop_after_; }

  const std::vector<uint64_t>& numbers() const { return numbers_; }
  const std::string& text() const { return text_; }
  size_t batches() const { return batches_; }

 private:
  static constexpr uint64_t kPrime = 0x100000001b3;

  bool Shows() const { return numbers_.size() == shown_; }
  void Begin(const char* what) {
    number_ = 0xcbf29ce484222325;
    if (Shows()) text_ = what;
  }
  void Add(const char* name, uint64_t value) {
    number_ = (number_ ^ value) * kPrime;
    number_ ^= number_ >> 31;
    if (Shows()) text_ += std::string(" ") + name + " " + std::to_string(value);
  }
  void Add(const TscInterval& bounds) {
    Add("lo", bounds.lo);
    Add("hi", bounds.hi);
  }
  void End(const ThreadStay* stay) {
    Add("stay", reinterpret_cast<uint64_t>(stay));
    EXPECT_LT(numbers_.size(), stop_after_) << "a piece after the consumer was done";
    numbers_.push_back(number_);
  }
  static void ExpectDigest(const BlockBatch& batch) {
    FlowDigest digest;
    for (const BlockStep step : batch.steps) {
      const CodeBlock& block = (*batch.table)[step.number()];
      uint64_t ip = block.address;
      for (unsigned i = 0; i < block.count; ++i) {
        digest.Append(ip);
        ip += block.lengths[i];
      }
      EXPECT_EQ(ip, block.address + block.size);
    }
    EXPECT_EQ(batch.digest(), digest);
    EXPECT_EQ(batch.instructions(), digest.count);
    EXPECT_FALSE(batch.steps.empty());
    ASSERT_EQ(batch.counts.size(), batch.times.empty() ? 0 : batch.steps.size());
    size_t wrong = 0;
    for (size_t i = 0; i < batch.counts.size(); ++i)
      wrong += batch.counts[i].count() == (*batch.table)[batch.steps[i].number()].count ? 0 : 1;
    EXPECT_EQ(wrong, 0u) << "of " << batch.steps.size() << " counts";
  }

  // ForEachStep has the same facts about each step as BlockRuns.
  static void ExpectSteps(const BlockBatch& batch) {
    BlockRuns runs(batch);
    uint64_t behind = 0;
    size_t wrong = 0;
    ForEachStep(batch, [&](const CodeBlock& block, BlockStep step, uint64_t count, uint64_t tsc) {
      if (!runs.Next()) {
        ++wrong;
        return;
      }
      behind += block.count;
      const bool same = &block == &runs.block() && step.value == runs.step().value &&
                        count == behind && tsc == runs.run().tsc;
      wrong += same ? 0 : 1;
    });
    EXPECT_EQ(wrong, 0u) << "of " << batch.steps.size() << " steps";
    EXPECT_FALSE(runs.Next());
  }

  const size_t stop_after_;
  const size_t shown_;
  std::vector<uint64_t> numbers_;
  uint64_t number_ = 0;
  std::string text_;
  size_t batches_ = 0;
};

// Compares both deliveries of a stream, with and without times. The decoders may be warm.
class DeliveryComparison {
 public:
  void ExpectSame(DecodeInput input) {
    for (const bool times : {false, true}) {
      input.times = times;
      SCOPED_TRACE(times ? "with times" : "without times");
      const size_t pieces = ExpectSameUpTo(input, PieceNumbers::kAll);
      for (const size_t stop : {pieces / 3, pieces / 2 + 1})
        if (stop != 0 && stop < pieces) ExpectSameUpTo(input, stop);
    }
    ExpectSameEvents(input);
  }
  // Without stopping anywhere.
  void ExpectSameWhole(DecodeInput input) {
    for (const bool times : {false, true}) {
      input.times = times;
      SCOPED_TRACE(times ? "with times" : "without times");
      ExpectSameUpTo(input, PieceNumbers::kAll);
    }
  }
  // Compares events and losses alone.
  void ExpectSameEvents(DecodeInput input) {
    SCOPED_TRACE("events only");
    input.times = true;
    input.blocks = false;
    ExpectSameUpTo(input, PieceNumbers::kAll);
  }
  size_t batches() const { return batches_; }

 private:
  size_t ExpectSameUpTo(const DecodeInput& input, size_t stop) {
    PieceNumbers singles(stop);
    PieceNumbers batched(stop);
    const Result<ByteAccount> one = one_by_one_->Decode(input, singles);
    const Result<ByteAccount> many = in_batches_->Decode(input, batched);
    EXPECT_TRUE(one && many);
    EXPECT_EQ(singles.batches(), 0u);
    batches_ += batched.batches();
    if (one && many && stop == PieceNumbers::kAll) {
      EXPECT_EQ(one->decoded, many->decoded);
      EXPECT_EQ(one->padding, many->padding);
      EXPECT_EQ(one->lost, many->lost);
    }
    const std::vector<uint64_t>& a = singles.numbers();
    const std::vector<uint64_t>& b = batched.numbers();
    if (a == b) return a.size();
    const size_t at = static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
    ADD_FAILURE() << "piece " << at << " of " << a.size() << ", " << b.size()
                  << "; one by one: " << TextOf(*one_by_one_, input, stop, at)
                  << "\nin batches: " << TextOf(*in_batches_, input, stop, at);
    return a.size();
  }
  static std::string TextOf(Decoder& decoder, const DecodeInput& input, size_t stop, size_t at) {
    PieceNumbers numbers(stop, at);
    EXPECT_TRUE(decoder.Decode(input, numbers));
    return numbers.text();
  }

  std::unique_ptr<Decoder> one_by_one_ = pt::MakeNativeDecoder(pt::Delivery::kOneByOne);
  std::unique_ptr<Decoder> in_batches_ = pt::MakeNativeDecoder(pt::Delivery::kBatches);
  size_t batches_ = 0;
};

}  // namespace flowback::deliveries
