// SPDX-License-Identifier: MIT
// Every generated raw stream, with both engines: the flow digest is the known one.
#include "tests/golden/generated.h"

#include <gtest/gtest.h>

#include "tests/golden/engines.h"
#include "tests/golden/shared_traces.h"

namespace flowback::golden {
namespace {

// Streams that lose instructions on purpose; overflow_test.cc knows what remains of them.
bool HasOverflows(const TrueDigest& truth) { return truth.recording.ends_with("-ovf"); }

// Packets that libipt 2.0.5 does not know: PEBS blocks, event trace.
bool IsBeyondLibipt(const std::string& recording) {
  return recording == "signals-events" || recording == "vcalls-pebs";
}

std::vector<TrueDigest> Streams() {
  std::vector<TrueDigest> streams;
  for (const TrueDigest& truth : TrueDigests())
    if (truth.IsStream() && !HasOverflows(truth)) streams.push_back(truth);
  return streams;
}

class GeneratedTest : public ::testing::TestWithParam<std::tuple<TrueDigest, std::string>> {};

TEST_P(GeneratedTest, HasTheKnownDigest) {
  const auto& [truth, engine] = GetParam();
  const std::unique_ptr<Decoder> decoder = Engine(engine);
  FLOWBACK_NEEDS_ENGINE(decoder);
  Result<GeneratedStream> stream = LoadGenerated(truth.recording, truth.Number());
  ASSERT_TRUE(stream) << stream.error().message();
  Result<FlowSummary> summary = decoder->Summarize(stream->Input());
  ASSERT_TRUE(summary) << summary.error().message();
  ExpectEveryByteCounted(*summary, stream->file->bytes().size());
  const std::vector<DataLoss> losses = RealLosses(summary->losses);
  if (engine == "libipt" && IsBeyondLibipt(truth.recording)) {
    // The reference engine must say that it can't, not guess.
    EXPECT_FALSE(losses.empty());
    for (const DataLoss& loss : losses) EXPECT_EQ(loss.cause, LossCause::kBadPacket) << loss.detail;
    EXPECT_LT(summary->digest.count, truth.digest.count);
    return;
  }
  EXPECT_TRUE(losses.empty()) << Describe(losses);
  EXPECT_EQ(summary->digest.count, truth.digest.count);
  EXPECT_EQ(summary->digest.hash, truth.digest.hash);
}

std::string NameOf(const ::testing::TestParamInfo<GeneratedTest::ParamType>& info) {
  const auto& [truth, engine] = info.param;
  return TestName(truth.recording + "_" + truth.who + "_" + engine);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GeneratedTest);
INSTANTIATE_TEST_SUITE_P(Recordings, GeneratedTest,
                         ::testing::Combine(::testing::ValuesIn(Streams()),
                                            ::testing::ValuesIn(kEngines)),
                         NameOf);

// A second decode with the same object must not see anything of the first.
TEST(GeneratedRepeatTest, IsTheSameAgain) {
  FLOWBACK_NEEDS_TRACES();
  Result<GeneratedStream> stream = LoadGenerated("hello", 1);
  ASSERT_TRUE(stream) << stream.error().message();
  for (const std::string& engine : kEngines) {
    const std::unique_ptr<Decoder> decoder = Engine(engine);
    if (decoder == nullptr) continue;
    const Result<FlowSummary> first = decoder->Summarize(stream->Input());
    const Result<FlowSummary> second = decoder->Summarize(stream->Input());
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->digest, second->digest) << engine;
    EXPECT_NE(first->digest.count, 0u) << engine;
  }
}

TEST(SharedTracesTest, ArePresent) { FLOWBACK_NEEDS_TRACES(); }

}  // namespace
}  // namespace flowback::golden
