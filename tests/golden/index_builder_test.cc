// SPDX-License-Identifier: MIT
// An index that was made by going over most of the flow is the one that was made by reading all of
// it: the same segments, the same shares, and from each state the same flow with the same times.
#include "replay/flow/index_builder.h"

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "tests/golden/engines.h"
#include "tests/golden/perf_recordings.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/exact_flow.h"

namespace flowback::golden {
namespace {

struct Made {
  IndexContent content;
  size_t gone_over = 0;
};

Made Make(const DecodeInput& input, uint64_t segment_bytes, bool goes_over) {
  const std::unique_ptr<Decoder> decoder = Engine("native");
  Result<std::unique_ptr<FlowReader>> reader = decoder->Read(input);
  EXPECT_TRUE(reader);
  IndexBuilder builder(segment_bytes, goes_over);
  EXPECT_TRUE(builder.Add(input, **reader).empty());
  SpaceNames spaces;
  spaces.Add(input);
  Made made{.content = builder.Take(spaces), .gone_over = builder.gone_over()};
  return made;
}

auto ShareFields(const IndexContent::Share& share) {
  return std::tuple(share.stay, share.segment, share.instructions, share.events, share.losses,
                    share.first_tsc, share.last_tsc);
}

// Each line of code in which anything executed is in the filter of its segment. Others may be, too:
// what was gone over knows of no block where it was left.
class FilterCheck final : public ExecutionConsumer {
 public:
  explicit FilterCheck(std::span<const uint64_t> filter) : filter_(filter) {}
  void OnBlock(const BlockRun& run) override {
    uint64_t ip = run.address;
    for (const uint8_t length : run.lengths) {
      missing_ += LineFilter::MayHave(filter_, LineOf(ip)) ? 0 : 1;
      ip += length;
    }
  }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss&) override {}
  uint64_t missing() const { return missing_; }

 private:
  std::span<const uint64_t> filter_;
  uint64_t missing_ = 0;
};

void ExpectInFilter(FlowReader& reader, const IndexContent::Stream& stream, size_t at) {
  const auto state = reader.FromBytes(stream.State(at));
  ASSERT_NE(state, nullptr);
  reader.Return(*state);
  FilterCheck check(stream.Filter(stream.segments[at].stretch));
  ReadSegment(reader, stream.segments[at], check);
  EXPECT_EQ(check.missing(), 0u) << "segment " << at;
}

// What one segment tells, from the state that an index has of its begin.
std::vector<uint64_t> FlowOf(FlowReader& reader, const IndexContent::Stream& stream, size_t at) {
  deliveries::PieceNumbers numbers;
  const auto state = reader.FromBytes(stream.State(at));
  EXPECT_NE(state, nullptr) << "segment " << at;
  if (state == nullptr) return {};
  reader.Return(*state);
  ReadSegment(reader, stream.segments[at], numbers);
  return numbers.numbers();
}

void ExpectSameIndex(const DecodeInput& input, const Made& over, const Made& full) {
  const IndexContent::Stream& one = over.content.streams[0];
  const IndexContent::Stream& other = full.content.streams[0];
  ASSERT_EQ(one.segments.size(), other.segments.size());
  for (size_t i = 0; i < one.segments.size(); ++i) {
    ASSERT_EQ(one.segments[i].stop, other.segments[i].stop) << "segment " << i;
    ASSERT_EQ(one.segments[i].steps, other.segments[i].steps) << "segment " << i;
  }
  ASSERT_EQ(one.shares.size(), other.shares.size());
  for (size_t i = 0; i < one.shares.size(); ++i)
    ASSERT_TRUE(ShareFields(one.shares[i]) == ShareFields(other.shares[i]))
        << "share " << i << ", segment " << one.shares[i].segment;
  const std::unique_ptr<Decoder> decoder = Engine("native");
  Result<std::unique_ptr<FlowReader>> reader = decoder->Read(input);
  ASSERT_TRUE(reader);
  for (size_t i = 0; i < one.segments.size(); ++i) {
    ASSERT_TRUE(FlowOf(**reader, one, i) == FlowOf(**reader, other, i)) << "segment " << i;
    ASSERT_NO_FATAL_FAILURE(ExpectInFilter(**reader, one, i));
  }
  EXPECT_LE(one.filters.size(), other.filters.size() * 11 / 10 + 8);
}

std::vector<PerfRecording> RecordingsToIndex() {
  std::vector<PerfRecording> recordings = PerfRecordings();
  for (const PerfRecording& overflown : OverflownPerfRecordings()) recordings.push_back(overflown);
  return recordings;
}

TEST(IndexBuilder, GoesOverWhatNeedNotBeRead) {
  FLOWBACK_NEEDS_TRACES();
  size_t gone_over = 0;
  for (const PerfRecording& recording : RecordingsToIndex())
    for (const Change& change : {Change(), Damaged(1 << 15)}) {
      OpenedPerf opened;
      ASSERT_NO_FATAL_FAILURE(OpenPerf(recording, change, opened));
      for (const Stream& stream : opened.recording.streams)
        for (const uint64_t segment_bytes :
             {uint64_t{3'000}, uint64_t{20'000}, uint64_t{131'072}}) {
          if (stream.bytes.size() > 500'000 && segment_bytes < 100'000) continue;
          // Damage is the same for shorter ones.
          if (change && stream.bytes.size() > 1'000'000) continue;
          SCOPED_TRACE(recording.name + " by " + std::to_string(segment_bytes) +
                       (change ? ", damaged" : ""));
          DecodeInput input = opened.inputs->For(stream);
          input.times = true;
          const Made over = Make(input, segment_bytes, true);
          const Made full = Make(input, segment_bytes, false);
          EXPECT_EQ(full.gone_over, 0u);
          gone_over += over.gone_over;
          ASSERT_NO_FATAL_FAILURE(ExpectSameIndex(input, over, full));
        }
    }
  EXPECT_GT(gone_over, 100u);
}

}  // namespace
}  // namespace flowback::golden
