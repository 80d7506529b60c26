// SPDX-License-Identifier: MIT
// Every generated recording, read in segments in order and then from any of its states: in every
// field of every piece the stream decoded in one go.
#include "tests/support/segments.h"

#include <gtest/gtest.h>

#include <vector>

#include "flowback/decode/flow_reader.h"
#include "tests/golden/generated.h"
#include "tests/golden/shared_traces.h"

namespace flowback::golden {
namespace {

class SegmentsTest : public testing::TestWithParam<TrueDigest> {};

TEST_P(SegmentsTest, AreTheStream) {
  const TrueDigest& truth = GetParam();
  Result<GeneratedStream> stream = LoadGenerated(truth.recording, truth.Number());
  ASSERT_TRUE(stream) << stream.error().message();
  const DecodeInput input = stream->Input();
  const bool long_one = input.bytes.size() > size_t{1} << 20;
  for (const size_t parts : long_one ? std::vector<size_t>{50} : std::vector<size_t>{1, 7, 100})
    segments::ExpectSegmentsAreWhole(input, input.bytes.size() / parts, parts);
}

std::vector<TrueDigest> Streams() {
  std::vector<TrueDigest> streams;
  for (const TrueDigest& truth : TrueDigests())
    if (truth.IsStream()) streams.push_back(truth);
  return streams;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SegmentsTest);
INSTANTIATE_TEST_SUITE_P(Recordings, SegmentsTest, testing::ValuesIn(Streams()),
                         [](const testing::TestParamInfo<TrueDigest>& which) {
                           return TestName(which.param.recording + "_" + which.param.who);
                         });

TEST(SharedTracesForSegmentsTest, ArePresent) { FLOWBACK_NEEDS_TRACES(); }

}  // namespace
}  // namespace flowback::golden
