// SPDX-License-Identifier: MIT
// Generated recordings as perf.data files: found by their sideband, decoded with both engines.
//
// Whatever the buffers are, each thread's flow is put together from them.
#include <gtest/gtest.h>

#include <map>

#include "flowback/replay/thread_flow.h"
#include "tests/golden/engines.h"
#include "tests/golden/perf_recordings.h"
#include "tests/golden/shared_traces.h"

namespace flowback::golden {
namespace {

// Overflows lose instructions; overflow_test.cc looks at those.
bool Fits(const PerfRecording& recording) { return !recording.name.ends_with("-ovf"); }

std::vector<PerfRecording> Recordings() {
  std::vector<PerfRecording> recordings = PerfRecordings();
  std::erase_if(recordings, [](const PerfRecording& recording) { return !Fits(recording); });
  return recordings;
}

class Digester final : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun& run) override {
    uint64_t ip = run.address;
    for (const uint8_t length : run.lengths) {
      digest.Append(ip);
      ip += length;
    }
  }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss&) override {}

  FlowDigest digest;
};

using DigestOfThread = std::map<int32_t, FlowDigest>;

DigestOfThread DigestsOf(const PerfRecording& truth) {
  DigestOfThread digests;
  for (const TrueDigest& thread : truth.threads)
    digests[static_cast<int32_t>(thread.Number())] = thread.digest;
  return digests;
}

// Thread by thread, piece by piece, as a listing does.
DigestOfThread ListedDigests(const Opened& opened, Decoder& decoder) {
  DigestOfThread digests;
  for (const ThreadFlow& flow : ThreadFlows(opened.recording, *opened.inputs)) {
    Digester digester;
    for (const FlowPiece& piece : flow.pieces)
      EXPECT_TRUE(DecodePiece(piece, *opened.inputs, decoder, digester));
    if (digester.digest.count != 0) digests[flow.tid] = digester.digest;
  }
  return digests;
}

// Each stream once, its parts given to the threads, as a summary does.
DigestOfThread SummedDigests(const Opened& opened, Decoder& decoder) {
  std::map<const ThreadStay*, FlowDigest> parts;
  for (const Stream& stream : opened.recording.streams) {
    const Result<FlowSummary> summary = decoder.Summarize(opened.inputs->For(stream));
    EXPECT_TRUE(summary);
    if (!summary) continue;
    ExpectEveryByteCounted(*summary, stream.bytes.size());
    EXPECT_EQ(Describe(RealLosses(summary->losses)), "");
    for (const FlowPart& part : summary->parts) parts[part.stay].Append(part.totals.digest);
  }
  DigestOfThread digests;
  for (const ThreadFlow& flow : ThreadFlows(opened.recording, *opened.inputs))
    for (const FlowPiece& piece : flow.pieces)
      if (parts[piece.stay].count != 0) digests[flow.tid].Append(parts[piece.stay]);
  return digests;
}

class PerfDataTest : public testing::TestWithParam<std::tuple<PerfRecording, std::string>> {};

TEST_P(PerfDataTest, HasTheKnownDigests) {
  const auto& [truth, engine] = GetParam();
  const std::unique_ptr<Decoder> decoder = Engine(engine);
  FLOWBACK_NEEDS_ENGINE(decoder);
  if (engine == "libipt" && (truth.name == "signals-events" || truth.name == "vcalls-pebs"))
    GTEST_SKIP() << "libipt 2.0.5 does not know its packets";
  Opened opened;
  ASSERT_NO_FATAL_FAILURE(Open(truth, Timing::kAsRecorded, opened));
  EXPECT_EQ(SummedDigests(opened, *decoder), DigestsOf(truth));
  if (truth.threads.size() == 1) return;
  EXPECT_EQ(ListedDigests(opened, *decoder), DigestsOf(truth));
}

class SharedCpusTest : public testing::TestWithParam<PerfRecording> {};

// The fewer timing packets, the more places a switch can have been.
TEST_P(SharedCpusTest, FindsTheThreadsWithoutCycles) {
  const PerfRecording& truth = GetParam();
  Opened opened;
  ASSERT_NO_FATAL_FAILURE(Open(truth, Timing::kNoCyc, opened));
  EXPECT_EQ(SummedDigests(opened, *Engine("native")), DigestsOf(truth));
}

TEST_P(SharedCpusTest, GivesNoThreadWhatMayBeAnothers) {
  const PerfRecording& truth = GetParam();
  Opened opened;
  ASSERT_NO_FATAL_FAILURE(Open(truth, Timing::kTscOnly, opened));
  const DigestOfThread told = SummedDigests(opened, *Engine("native"));
  uint64_t all = 0;
  for (const auto& [tid, digest] : told) all += digest.count;
  for (const auto& [tid, digest] : DigestsOf(truth)) {
    EXPECT_LE(told.contains(tid) ? told.at(tid).count : 0, digest.count) << tid;
    all -= digest.count;
  }
  EXPECT_EQ(all, 0) << "every instruction is a thread's or nobody's";
}

std::string NameOf(const testing::TestParamInfo<PerfDataTest::ParamType>& info) {
  return TestName(std::get<0>(info.param).name + "_" + std::get<1>(info.param));
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PerfDataTest);
INSTANTIATE_TEST_SUITE_P(Recordings, PerfDataTest,
                         testing::Combine(testing::ValuesIn(Recordings()),
                                          testing::ValuesIn(kEngines)),
                         NameOf);

std::vector<PerfRecording> WithSharedCpus() {
  std::vector<PerfRecording> recordings = Recordings();
  std::erase_if(recordings, [](const PerfRecording& recording) {
    return recording.threads.size() == 1 || recording.name.ends_with("-perthread");
  });
  return recordings;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SharedCpusTest);
INSTANTIATE_TEST_SUITE_P(Recordings, SharedCpusTest, testing::ValuesIn(WithSharedCpus()),
                         [](const auto& test) { return TestName(test.param.name); });

TEST(PerfDataFilesTest, ArePresent) { FLOWBACK_NEEDS_TRACES(); }

}  // namespace
}  // namespace flowback::golden
