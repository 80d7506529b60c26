// SPDX-License-Identifier: MIT
// Every thread of every generated recording: going backward from the end is going forward, the
// other way round, and both are what decoding the streams in one go tells of its stays.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/golden/engines.h"
#include "tests/golden/perf_recordings.h"
#include "tests/golden/shared_traces.h"
#include "tests/threads/cursor_elements.h"

namespace flowback::golden {
namespace {

using namespace cursor_elements;

class CursorTest : public testing::TestWithParam<PerfRecording> {};

TEST_P(CursorTest, GoesThroughEachThread) {
  OpenedPerf opened;
  ASSERT_NO_FATAL_FAILURE(OpenPerf(GetParam(), {}, opened));
  opened.inputs->set_times(true);
  const std::unique_ptr<Decoder> decoder = Engine("native");
  ASSERT_NE(decoder, nullptr);
  Result<FlowIndex> index = FlowIndex::Build(opened.recording, *opened.inputs, *decoder,
                                             {.times = true, .segment_bytes = 4096});
  ASSERT_TRUE(index) << index.error().message();
  const std::vector<ThreadFlow> flows = ThreadFlows(opened.recording, *opened.inputs);
  ASSERT_EQ(flows.size(), index->threads().size());
  Elements brute;
  for (const Stream& stream : opened.recording.streams)
    ASSERT_TRUE(decoder->Decode(opened.inputs->For(stream), brute));
  uint64_t elements = 0;
  for (size_t i = 0; i < flows.size(); ++i) {
    SCOPED_TRACE("thread " + std::to_string(flows[i].tid));
    std::vector<Element> truth;
    for (const FlowPiece& piece : flows[i].pieces) {
      const std::vector<Element>& elements_of_piece = brute.Of(piece.stay);
      truth.insert(truth.end(), elements_of_piece.begin(), elements_of_piece.end());
    }
    ThreadCursor cursor(*index, index->threads()[i]);
    EXPECT_EQ(Difference(Forward(cursor), truth), "");
    EXPECT_EQ(Difference(Backward(cursor), truth), "");
    elements += truth.size();
  }
  EXPECT_GT(elements, 0u);
}

// Those of some hundred million instructions are left out: every one of them is looked at here.
std::vector<PerfRecording> Recordings() {
  std::vector<PerfRecording> recordings = PerfRecordings();
  std::erase_if(recordings,
                [](const PerfRecording& recording) { return recording.name.starts_with("big-"); });
  return recordings;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CursorTest);
INSTANTIATE_TEST_SUITE_P(Recordings, CursorTest, testing::ValuesIn(Recordings()),
                         [](const testing::TestParamInfo<PerfRecording>& which) {
                           return TestName(which.param.name);
                         });

TEST(SharedTracesForCursorTest, ArePresent) { FLOWBACK_NEEDS_TRACES(); }

}  // namespace
}  // namespace flowback::golden
