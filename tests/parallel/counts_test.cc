// SPDX-License-Identifier: MIT
// Counts of blocks, from one thread and from several, by whole paths and from the flow of the other
// engine: each instruction, each end of a branch and each target as often as in the flow.
#include <gtest/gtest.h>

#include <string>

#include "tests/differential/harness.h"
#include "tests/support/code_counts.h"
#include "tests/threads/divided_stream.h"

namespace flowback::testing {
namespace {

// Counts the flow, instruction by instruction.
CodeCounts TrueCounts(Decoder& decoder, const DecodeInput& input) {
  CountedFlow flow;
  EXPECT_TRUE(decoder.Decode(input, flow));
  return flow.counts();
}

void ExpectCounts(const CodeCounts& truth, Decoder& decoder, const DecodeInput& input,
                  const std::string& how) {
  CountedCode counted;
  const Result<FlowSummary> sum = decoder.Count(input, counted);
  ASSERT_TRUE(sum) << sum.error().message();
  EXPECT_EQ(counted.counts().sum(), sum->digest.count) << how;
  EXPECT_EQ(counted.counts().instructions, truth.instructions) << how;
  EXPECT_EQ(counted.counts().branches, truth.branches) << how;
  EXPECT_EQ(counted.counts().targets, truth.targets) << how;
  const Result<FlowSummary> without = decoder.Summarize(input);
  ASSERT_TRUE(without);
  EXPECT_EQ(CountsText(*sum), CountsText(*without)) << how;
  EXPECT_EQ(sum->parts.size(), without->parts.size()) << how;
}

void ExpectAllCounts(const DecodeInput& input) {
  const std::unique_ptr<Decoder> native = Native();
  const CodeCounts truth = TrueCounts(*native, input);
  DecodeInput some = input;
  ExpectCounts(truth, *native, some, "one thread");
  some.threads = 3;
  some.segment_bytes = 700;
  ExpectCounts(truth, *native, some, "three threads");
}

class CountSeeds : public ::testing::TestWithParam<uint64_t> {};

TEST_P(CountSeeds, AreThoseOfTheFlow) {
  const Seeds seeds = SeedsOf(GetParam(), 1 + 100 * GetParam(), 100);
  const std::unique_ptr<Decoder> reference = Reference();
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    GeneratorOptions options = MixedOptions(seed);
    SCOPED_TRACE(Describe(options));
    const Subject subject(GenerateStream(options));
    const DecodeInput input = subject.Input(seed % 2 == 0 ? Resync::kEarliest : Resync::kSyncPoint);
    ExpectAllCounts(input);
    if (reference != nullptr && seed % 10 == 0)
      ExpectCounts(TrueCounts(*reference, input), *reference, input, "libipt");
    if (HasFailure()) return;
  }
}

class DividedCounts : public ::testing::TestWithParam<Change> {};

// With stays, and with what makes the flow be lost.
TEST_P(DividedCounts, AreThoseOfEachStay) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    GeneratorOptions options = MixedOptions(seed);
    options.instructions = 20'000;
    if (options.psb_period == 0) options.psb_period = 512;
    const Subject subject(GenerateStream(options));
    const DividedStream stream(subject, GetParam());
    SCOPED_TRACE(Describe(options));
    ExpectAllCounts(stream.Input(seed % 2 == 0 ? Resync::kEarliest : Resync::kSyncPoint));
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Changes, DividedCounts,
                         ::testing::Values(Change::kNone, Change::kCode, Change::kBytes,
                                           Change::kGaps));

INSTANTIATE_TEST_SUITE_P(Shard, CountSeeds, ::testing::Range<uint64_t>(0, 10));

}  // namespace
}  // namespace flowback::testing
