// SPDX-License-Identifier: MIT
// Facts of only some kinds of trace, from a source through segments and the cursor to a consumer:
// facts of branches, what is unknown between two places, what is certain at a segment's borders.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "flowback/decode/trace_source.h"
#include "flowback/replay/flow_index.h"
#include "flowback/replay/thread_cursor.h"
#include "tests/source/imaginary_source.h"
#include "tests/support/flow_of.h"
#include "tests/support/segments.h"

namespace flowback::testing {
namespace {

using Cycles = BranchFacts::Cycles;
using Prediction = BranchFacts::Prediction;
using At = FlowPlace::Kind;

constexpr BranchFacts kRight{3, Cycles::kExact, Prediction::kRight};
constexpr BranchFacts kWrong{65535, Cycles::kAtLeast, Prediction::kWrong};
constexpr BranchFacts kOnlyCycles{0, Cycles::kExact, Prediction::kNotTold};

// Two samples of a few branches each, then recording stops.
const std::vector<ImaginaryRecord> kSamples = {
    {.time = 110, .address = 0x7000, .branch = kRight},
    {.time = 120, .address = 0x7010, .branch = kWrong},
    {.time = 130, .address = 0x7020, .branch = {}},
    {.time = 210, .address = 0x7100, .branch = kOnlyCycles, .unknown_before = 1},
    {.time = 220, .address = 0x7110, .branch = kRight},
    {.time = 230},
};

class SegmentFacts : public ::testing::Test {
 protected:
  SegmentFacts() : bytes_(ImaginaryTrace(kSamples)) {
    Recording recording;
    recording.source = "imaginary";
    const auto source = OpenSource(recording);
    if (source) decoder_ = std::move(*(*source)->MakeDecoder(""));
    input_.bytes = bytes_;
  }
  // One record each.
  segments::Segments ReadOneByOne() {
    reader_ = std::move(*decoder_->Read(input_));
    return segments::ReadInOrder(*reader_, 0);
  }

  std::vector<uint8_t> bytes_;
  std::unique_ptr<Decoder> decoder_;
  DecodeInput input_;
  std::unique_ptr<FlowReader> reader_;
};

TEST_F(SegmentFacts, BranchesHaveTheirs) {
  std::vector<BranchFacts> facts;
  ForEachItem(FlowOf(*decoder_, input_), [&](const BlockRun& run) { facts.push_back(run.branch); });
  EXPECT_EQ(facts, (std::vector<BranchFacts>{kRight, kWrong, {}, kOnlyCycles, kRight}));
  EXPECT_FALSE(facts[2].any());
  EXPECT_TRUE(facts[3].any()) << "0 cycles are not the same as none told";
}

TEST_F(SegmentFacts, UnknownIsNoLossAndHasItsPlace) {
  size_t unknown = 0;
  ForEachItem(
      FlowOf(*decoder_, input_),
      [&](const UnknownFlow& between, uint64_t before) {
        ++unknown;
        EXPECT_EQ(before, 3);
        EXPECT_EQ(between.to, 0x7100);
        EXPECT_EQ(between.tsc, 130);
        EXPECT_EQ(between.end_tsc, 210);
      },
      [](const DataLoss&) { ADD_FAILURE() << "nothing was lost"; });
  EXPECT_EQ(unknown, 1);
}

TEST_F(SegmentFacts, AnyCutIsTheWhole) {
  for (size_t records = 0; records <= kSamples.size(); ++records) {
    const size_t size = records * sizeof(ImaginaryRecord);
    reader_ = std::move(*decoder_->Read(input_));
    segments::Segments segments = segments::ReadInOrder(*reader_, size);
    segments::ExpectPlayed(segments.segments, *decoder_, input_, "in order");
    segments::ReadAgain(*reader_, size, records, segments, segments.segments.size());
    segments::ExpectPlayed(segments.segments, *decoder_, input_, "in any order");
    segments::ExpectBordersHold(segments.segments);
  }
}

TEST_F(SegmentFacts, BordersSayWhetherTheFlowGoesOn) {
  const segments::Segments read = ReadOneByOne();
  std::vector<FlowPlace> ends;
  for (const FlowSegment& segment : read.segments) ends.push_back(segment.end());
  EXPECT_EQ(ends, (std::vector<FlowPlace>{{At::kAt, 0x7010},
                                          {At::kAt, 0x7020},
                                          {At::kUnknown, 0},  // where the first sample ends
                                          {At::kAt, 0x7110},
                                          {At::kOff, 0},
                                          {At::kOff, 0}}));
  EXPECT_EQ(read.segments.front().begin(), FlowPlace());
  EXPECT_FALSE(read.segments[3].begin().GoesOn());
  EXPECT_TRUE(read.segments[4].begin().GoesOn());
}

// A recorder that goes from segment to segment carries the place along.
TEST_F(SegmentFacts, ARecorderCarriesThePlaceOn) {
  reader_ = std::move(*decoder_->Read(input_));
  FlowSegment first, second;
  SegmentRecorder recorder(first);
  reader_->ReadTo(0, recorder);
  recorder.Use(second);
  reader_->ReadTo(bytes_.size(), recorder);
  EXPECT_EQ(first.end(), (FlowPlace{At::kAt, 0x7010}));
  EXPECT_EQ(second.begin(), first.end());
  second.Clear();
  EXPECT_EQ(second.begin(), FlowPlace());
}

TEST_F(SegmentFacts, TheCursorStandsAtTheUnknown) {
  using Kind = ThreadCursor::Kind;
  Stream stream;
  stream.bytes = bytes_;
  ThreadStay stay;
  stay.tid = 7;
  input_.changes = {{.offset = 0, .stay = &stay}};
  ThreadFlow flow;
  flow.tid = 7;
  flow.pieces.push_back({&stream, &stay, 0, bytes_.size()});
  auto index = FlowIndex::Build({{&stream, &input_}}, {flow}, *decoder_,
                                {.times = true, .segment_bytes = 2 * sizeof(ImaginaryRecord)});
  ASSERT_TRUE(index) << index.error().message();
  ThreadCursor cursor(*index, index->threads()[0]);
  std::vector<Kind> kinds;
  std::vector<BranchFacts> facts;
  for (bool more = true; more; more = cursor.Next()) {
    kinds.push_back(cursor.kind());
    if (cursor.kind() == Kind::kInstruction) facts.push_back(cursor.instruction().branch);
    if (cursor.kind() == Kind::kUnknown) {
      EXPECT_EQ(cursor.unknown().to, 0x7100);
      EXPECT_EQ(cursor.number(), 3);
    }
  }
  EXPECT_EQ(kinds, (std::vector<Kind>{Kind::kEvent, Kind::kInstruction, Kind::kInstruction,
                                      Kind::kInstruction, Kind::kUnknown, Kind::kInstruction,
                                      Kind::kInstruction, Kind::kEvent}));
  EXPECT_EQ(facts, (std::vector<BranchFacts>{kRight, kWrong, {}, kOnlyCycles, kRight}));
  cursor.ToEnd();
  ASSERT_TRUE(cursor.Previous(Kind::kUnknown));
  EXPECT_FALSE(cursor.Previous(Kind::kUnknown));
}

}  // namespace
}  // namespace flowback::testing
