// SPDX-License-Identifier: MIT
// Decoder::Summarize for engines without a faster way, checked on a decoder that recites a flow.
#include <gtest/gtest.h>

#include "flowback/decode/decoder.h"

namespace flowback {
namespace {

class Reciter final : public Decoder {
 public:
  Result<ByteAccount> Decode(const DecodeInput&, ExecutionConsumer& consumer) override {
    const uint8_t lengths[] = {3, 2};
    BlockRun run;
    run.address = 0x1000;
    run.lengths = lengths;
    run.last = InstructionClass::kConditional;
    run.exit = BlockExit::kTaken;
    run.tsc = 5;
    consumer.OnBlock(run);
    run.exit = BlockExit::kNotTaken;
    consumer.OnBlock(run);
    for (int kind = 0; kind <= static_cast<int>(InstructionClass::kFarReturn); ++kind) {
      run.last = static_cast<InstructionClass>(kind);
      run.exit = BlockExit::kTaken;
      consumer.OnBlock(run);
    }
    TraceEvent event;
    event.tsc = 9;
    consumer.OnEvent(event);
    consumer.OnLoss({.cause = LossCause::kNoImage, .begin = 4, .end = 7, .detail = {}});
    return ByteAccount{.decoded = 10, .padding = 2, .lost = 3};
  }
};

TEST(Summarize, AddsUpTheFlow) {
  const Result<FlowSummary> summary = Reciter().Summarize({});
  ASSERT_TRUE(summary);
  FlowDigest digest;
  for (int block = 0; block < 12; ++block) {
    digest.Append(0x1000);
    digest.Append(0x1003);
  }
  EXPECT_EQ(summary->digest, digest);
  EXPECT_EQ(summary->blocks, 12u);
  EXPECT_EQ(summary->taken, 2u);
  EXPECT_EQ(summary->not_taken, 1u);
  EXPECT_EQ(summary->jumps, 1u);
  EXPECT_EQ(summary->indirect_jumps, 1u);
  EXPECT_EQ(summary->calls, 1u);
  EXPECT_EQ(summary->indirect_calls, 1u);
  EXPECT_EQ(summary->returns, 1u);
  EXPECT_EQ(summary->far, 3u);
}

TEST(Summarize, KeepsAccountTimesAndLosses) {
  const Result<FlowSummary> summary = Reciter().Summarize({});
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->bytes_decoded, 10u);
  EXPECT_EQ(summary->bytes_padding, 2u);
  EXPECT_EQ(summary->bytes_lost, 3u);
  EXPECT_EQ(summary->first_tsc, 5u);
  EXPECT_EQ(summary->last_tsc, 9u);
  ASSERT_EQ(summary->losses.size(), 1u);
  EXPECT_EQ(summary->losses[0].cause, LossCause::kNoImage);
}

}  // namespace
}  // namespace flowback
