// SPDX-License-Identifier: MIT
// Every thread of every generated recording: going backward from the end is going forward, the
// other way round, and both equal its stays in a decode of the streams in one go.
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "tests/golden/engines.h"
#include "tests/golden/perf_recordings.h"
#include "tests/golden/shared_traces.h"
#include "tests/threads/cursor_elements.h"

namespace flowback::golden {
namespace {

using namespace cursor_elements;

// The next and the last execution of addresses, common and rare ones and some that never were, from
// random places: by looking at each element.
void ExpectExecutions(ThreadCursor& cursor, const std::vector<Element>& truth, uint64_t seed) {
  std::vector<size_t> instructions;
  std::map<uint64_t, size_t> first;  // by address
  for (size_t i = 0; i < truth.size(); ++i) {
    if (truth[i].kind != Kind::kInstruction) continue;
    first.try_emplace(truth[i].place, i);
    instructions.push_back(i);
  }
  if (instructions.empty()) return;
  std::mt19937_64 random(seed);
  std::vector<uint64_t> addresses = {0, 1, ~uint64_t{0}, truth[instructions[0]].place + 1};
  for (int i = 0; i < 8; ++i)  // as often as they execute
    addresses.push_back(truth[instructions[random() % instructions.size()]].place);
  for (int i = 0; i < 8; ++i)  // each address alike: rare ones, too
    addresses.push_back(
        std::next(first.begin(), static_cast<ptrdiff_t>(random() % first.size()))->first);
  for (const uint64_t address : addresses) {
    const uint64_t number = random() % instructions.size();
    const size_t from = instructions[number];
    const auto is_it = [&](const Element& e) {
      return e.kind == Kind::kInstruction && e.place == address;
    };
    size_t next = from + 1;
    while (next < truth.size() && !is_it(truth[next])) ++next;
    size_t before = from;
    while (before != 0 && !is_it(truth[before - 1])) --before;
    cursor.ToInstruction(number);
    ASSERT_EQ(cursor.NextAt(address), next < truth.size()) << address;
    EXPECT_TRUE(At(cursor) == truth[next < truth.size() ? next : from]) << address;
    cursor.ToInstruction(number);
    ASSERT_EQ(cursor.PreviousAt(address), before != 0) << address;
    EXPECT_TRUE(At(cursor) == truth[before != 0 ? before - 1 : from]) << address;
  }
}

class CursorTest : public ::testing::TestWithParam<PerfRecording> {};

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
    ExpectExecutions(cursor, truth, i + 1);
    elements += truth.size();
  }
  EXPECT_GT(elements, 0u);
}

// Recordings of some hundred million instructions are left out: every one of them is looked at
// here.
std::vector<PerfRecording> Recordings() {
  std::vector<PerfRecording> recordings = PerfRecordings();
  std::erase_if(recordings,
                [](const PerfRecording& recording) { return recording.name.starts_with("big-"); });
  for (const PerfRecording& overflown : OverflownPerfRecordings()) recordings.push_back(overflown);
  return recordings;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CursorTest);
INSTANTIATE_TEST_SUITE_P(Recordings, CursorTest, ::testing::ValuesIn(Recordings()),
                         [](const ::testing::TestParamInfo<PerfRecording>& which) {
                           return TestName(which.param.name);
                         });

TEST(SharedTracesForCursorTest, ArePresent) { FLOWBACK_NEEDS_TRACES(); }

}  // namespace
}  // namespace flowback::golden
