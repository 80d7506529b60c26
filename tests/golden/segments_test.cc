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

// Returns into how many segments a stream is cut, one number after the other. libipt's state can't
// be copied, so it decodes again what lies before each segment: a long stream is cut into few, and
// shorter ones show the rest.
std::vector<size_t> PartsOf(std::string_view engine, size_t bytes) {
  const bool copies = engine != "libipt";
  if (bytes > size_t{1} << 20) return {50};
  if (bytes > 200'000) return copies ? std::vector<size_t>{7, 100} : std::vector<size_t>{7};
  return {1, 7, 100};
}

TEST_P(SegmentsTest, AreTheStream) {
  const auto& [engine, truth] = GetParam();
  Result<GeneratedStream> stream = LoadGenerated(truth.recording, truth.Number());
  ASSERT_TRUE(stream) << stream.error().message();
  const DecodeInput input = stream->Input();
  for (const size_t parts : PartsOf(engine, input.bytes.size()))
    segments::ExpectSegmentsAreWhole(engine, input, input.bytes.size() / parts, parts);
}

// Leaves out the two longest streams for libipt, which would take a minute for them, in the same
// loop as for all others.
std::vector<SegmentsTest::ParamType> Streams() {
  std::vector<SegmentsTest::ParamType> streams;
  for (const std::string_view engine : DecoderNames())
    for (const TrueDigest& truth : TrueDigests())
      if (truth.IsStream() && (engine == "native" || !truth.recording.starts_with("big-")))
        streams.emplace_back(engine, truth);
  return streams;
}

std::string NameOf(const ::testing::TestParamInfo<SegmentsTest::ParamType>& which) {
  const auto& [engine, truth] = which.param;
  return TestName(std::string(engine) + "_" + truth.recording + "_" + truth.who);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SegmentsTest);
INSTANTIATE_TEST_SUITE_P(Recordings, SegmentsTest, ::testing::ValuesIn(Streams()), NameOf);

TEST(SharedTracesForSegmentsTest, ArePresent) { FLOWBACK_NEEDS_TRACES(); }

}  // namespace
}  // namespace flowback::golden
