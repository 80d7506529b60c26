// SPDX-License-Identifier: MIT
// Generated recordings as perf.data files: found by their sideband, decoded with both engines.
//
// Whatever the buffers are, each thread's flow is put together from them.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "flowback/replay/threads.h"
#include "tests/golden/engines.h"
#include "tests/golden/perf_recordings.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/flow_consumers.h"

namespace flowback::golden {
namespace {

// Thread by thread, piece by piece, as a listing does.
DigestOfThread ListedDigests(const OpenedPerf& opened, Decoder& decoder) {
  DigestOfThread digests;
  for (const ThreadFlow& flow : ThreadFlows(opened.recording, *opened.inputs)) {
    FlowDigester digester;
    for (const FlowPiece& piece : flow.pieces)
      EXPECT_TRUE(DecodePiece(piece, *opened.inputs, decoder, digester));
    if (digester.count() != 0) digests[flow.tid] = digester.digest();
  }
  return digests;
}

class PerfDataTest : public ::testing::TestWithParam<std::tuple<PerfRecording, std::string>> {};

TEST_P(PerfDataTest, HasTheKnownDigests) {
  const auto& [truth, engine] = GetParam();
  const std::unique_ptr<Decoder> decoder = Engine(engine);
  FLOWBACK_NEEDS_ENGINE(decoder);
  if (engine == "libipt" && (truth.name == "signals-events" || truth.name == "vcalls-pebs"))
    GTEST_SKIP() << "libipt 2.0.5 does not know its packets";
  OpenedPerf opened;
  ASSERT_NO_FATAL_FAILURE(OpenPerf(truth, {}, opened));
  EXPECT_EQ(SummedDigests(opened, *decoder), DigestsOf(truth));
  if (truth.threads.size() == 1) return;
  EXPECT_EQ(ListedDigests(opened, *decoder), DigestsOf(truth));
}

std::string NameOf(const ::testing::TestParamInfo<PerfDataTest::ParamType>& info) {
  return TestName(std::get<0>(info.param).name + "_" + std::get<1>(info.param));
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PerfDataTest);
INSTANTIATE_TEST_SUITE_P(Recordings, PerfDataTest,
                         ::testing::Combine(::testing::ValuesIn(PerfRecordings()),
                                            ::testing::ValuesIn(kEngines)),
                         NameOf);

TEST(PerfDataFilesTest, ArePresent) { FLOWBACK_NEEDS_TRACES(); }

}  // namespace
}  // namespace flowback::golden
