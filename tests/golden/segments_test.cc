// SPDX-License-Identifier: MIT
// Every generated recording, read in segments in order and then from any of its states: in every
// field of every piece the stream decoded in one go.
#include "tests/support/segments.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "flowback/decode/flow_reader.h"
#include "tests/golden/generated.h"
#include "tests/golden/shared_traces.h"

namespace flowback::golden {
namespace {

class SegmentsTest : public ::testing::TestWithParam<std::tuple<std::string_view, TrueDigest>> {};

TEST_P(SegmentsTest, AreTheStream) {
  const auto& [engine, truth] = GetParam();
  Result<GeneratedStream> stream = LoadGenerated(truth.recording, truth.Number());
  ASSERT_TRUE(stream) << stream.error().message();
  const DecodeInput input = stream->Input();
  const bool long_one = input.bytes.size() > size_t{1} << 20;
  for (const size_t parts : long_one ? std::vector<size_t>{50} : std::vector<size_t>{1, 7, 100})
    segments::ExpectSegmentsAreWhole(engine, input, input.bytes.size() / parts, parts);
}

std::vector<TrueDigest> Streams() {
  std::vector<TrueDigest> streams;
  for (const TrueDigest& truth : TrueDigests())
    if (truth.IsStream()) streams.push_back(truth);
  return streams;
}

std::string NameOf(const ::testing::TestParamInfo<SegmentsTest::ParamType>& which) {
  const auto& [engine, truth] = which.param;
  return TestName(std::string(engine) + "_" + truth.recording + "_" + truth.who);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SegmentsTest);
INSTANTIATE_TEST_SUITE_P(Recordings, SegmentsTest,
                         ::testing::Combine(::testing::ValuesIn(DecoderNames()),
                                            ::testing::ValuesIn(Streams())),
                         NameOf);

TEST(SharedTracesForSegmentsTest, ArePresent) { FLOWBACK_NEEDS_TRACES(); }

}  // namespace
}  // namespace flowback::golden
