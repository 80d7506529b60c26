// SPDX-License-Identifier: MIT
// Waits are the same whether all of the flow is played, or parts of it are passed over in which
// nothing can be a wait.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "replay/flow/segment_steps.h"
#include "replay/locks/locks.h"
#include "replay/writers/locks/locks_view.h"
#include "replay/writers/writers.h"
#include "tests/golden/opened_timeline.h"
#include "tests/golden/perf_recordings.h"
#include "tests/golden/shared_traces.h"

namespace flowback::golden {
namespace {

// The whole report, from all writers.
std::string TextOf(const OpenedTimeline& opened, const LockReport& report) {
  const Threads threads(opened.perf.recording);
  SourceLines lines;
  const std::function<std::string(const std::string&)> same = [](const std::string& file) {
    return file;
  };
  LocksView view;
  view.report = &report;
  view.threads = &threads;
  view.names = {.lines = &lines, .symbolizer = opened.symbolizer.get(), .recorded_path = &same};
  view.input = "perf.data";
  view.all = view.paths = true;
  StringSink sink;
  WriteLocksJson(view, sink);
  WriteLocksText(view, sink);
  return sink.text();
}

// Finds the locks in the recording; `passed_over` grows by the parts that were passed over.
std::string FindIn(const OpenedTimeline& opened, PassOver how, uint64_t segment_bytes,
                   uint64_t& passed_over) {
  uint64_t passed = 0;
  const LockOptions options{
      .paths = true, .pass_over = how, .segment_bytes = segment_bytes, .passed_over = &passed};
  const Result<LockReport> report = FindLocks(*opened.sources, opened.played, options, nullptr);
  passed_over += passed;
  EXPECT_TRUE(report) << report.error().message();
  return report ? TextOf(opened, *report) : std::string();
}

// Returns how many parts were passed over.
uint64_t Compare(const PerfRecording& recording, const Change& change,
                 const std::vector<uint64_t>& segment_bytes) {
  SCOPED_TRACE(recording.name);
  const OpenedTimeline opened(recording, change);
  if (!opened.sources) return 0;
  uint64_t passed_over = 0;
  const std::string all = FindIn(opened, PassOver::kNever, 0, passed_over);
  EXPECT_EQ(passed_over, 0U);
  for (const uint64_t bytes : segment_bytes) {
    SCOPED_TRACE(bytes);
    EXPECT_EQ(FindIn(opened, PassOver::kAlways, bytes, passed_over), all);
    EXPECT_EQ(FindIn(opened, PassOver::kByLeaps, bytes, passed_over), all);
  }
  return passed_over;
}

bool IsBig(const PerfRecording& recording) { return recording.name.starts_with("big-"); }

class PassedLocksTest : public ::testing::TestWithParam<PerfRecording> {
 protected:
  void SetUp() override { FLOWBACK_NEEDS_TRACES(); }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PassedLocksTest);

TEST_P(PassedLocksTest, AreTheSame) {
  const bool is_big = IsBig(GetParam());
  const uint64_t passed = Compare(
      GetParam(), {},
      is_big ? std::vector<uint64_t>{16384, 65536} : std::vector<uint64_t>{1024, 4096, 16384});
  EXPECT_GE(passed, is_big ? 1U : 0U);
}

TEST_P(PassedLocksTest, AreTheSameWithLosses) {
  if (IsBig(GetParam())) GTEST_SKIP() << "the smaller ones do";
  for (const size_t apart : {500, 5000, 50000}) Compare(GetParam(), Damaged(apart), {2048, 16384});
}

std::string NameOfCase(const ::testing::TestParamInfo<PerfRecording>& tested) {
  std::string name = tested.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, PassedLocksTest, ::testing::ValuesIn(PerfRecordings()), NameOfCase);
INSTANTIATE_TEST_SUITE_P(Overflown, PassedLocksTest, ::testing::ValuesIn(OverflownPerfRecordings()),
                         NameOfCase);

// A flow of many segments and much code cannot be kept whole. Parts that were not kept are unknown,
// and so they are played.
TEST(StepMarks, KeepSoMuchOfAllSegments) {
  static constexpr uint8_t kLengths[] = {5};
  const AddressSpace space;
  BlockTable table(space, CodeMode::kX86_64);
  for (uint32_t i = 0; i < 64; ++i)
    table.Add({.address = 0x1000 + 16 * i, .lengths = kLengths, .size = 5, .count = 1});
  StepMarks marks(9);
  for (int segment = 0; segment < 4; ++segment) {
    marks.Add(table, 63, 1);  // four words
    const SegmentSteps steps = marks.Take();
    EXPECT_EQ(steps.known, segment < 2) << segment;
    EXPECT_EQ(steps.tables.size(), segment < 2 ? 1u : 0u);
  }
  marks.Add(table, 0, 1);
  EXPECT_TRUE(marks.Take().known);
}

}  // namespace
}  // namespace flowback::golden
