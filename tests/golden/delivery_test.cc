// SPDX-License-Identifier: MIT
// Every generated recording: the flow in batches, and ranges of code that are counted, are those of
// the flow one by one.
#include <gtest/gtest.h>

#include "tests/golden/generated.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/exact_flow.h"
#include "tests/support/exact_ranges.h"

namespace flowback::golden {
namespace {

class DeliveryTest : public ::testing::TestWithParam<TrueDigest> {};

TEST_P(DeliveryTest, IsTheSameInBatches) {
  const TrueDigest& truth = GetParam();
  Result<GeneratedStream> stream = LoadGenerated(truth.recording, truth.Number());
  ASSERT_TRUE(stream) << stream.error().message();
  deliveries::DeliveryComparison comparison;
  comparison.ExpectSame(stream->Input());
  comparison.ExpectSameWhole(stream->Input());  // with what the decoders know now
  EXPECT_NE(comparison.batches(), 0u);
}

TEST_P(DeliveryTest, IsTheSameInRanges) {
  const TrueDigest& truth = GetParam();
  Result<GeneratedStream> stream = LoadGenerated(truth.recording, truth.Number());
  ASSERT_TRUE(stream) << stream.error().message();
  deliveries::RangeComparison comparison;
  comparison.ExpectSame(stream->Input());
  comparison.ExpectSame(stream->Input());  // with what the decoders know now
  EXPECT_NE(comparison.counted(), 0u);
}

std::vector<TrueDigest> Streams() {
  std::vector<TrueDigest> streams;
  for (const TrueDigest& truth : TrueDigests())
    if (truth.IsStream()) streams.push_back(truth);
  return streams;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DeliveryTest);
INSTANTIATE_TEST_SUITE_P(Recordings, DeliveryTest, ::testing::ValuesIn(Streams()),
                         [](const ::testing::TestParamInfo<TrueDigest>& which) {
                           return TestName(which.param.recording + "_" + which.param.who);
                         });

TEST(SharedTracesForDeliveryTest, ArePresent) { FLOWBACK_NEEDS_TRACES(); }

}  // namespace
}  // namespace flowback::golden
