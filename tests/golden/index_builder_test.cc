// SPDX-License-Identifier: MIT
// An index that was made by going over most of the flow is the one that was made by reading all of
// it: the same segments, the same shares, and from each state the same flow with the same times.
#include "replay/flow/index_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/sanitized.h"
#include "tests/golden/engines.h"
#include "tests/golden/perf_recordings.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/exact_flow.h"

namespace flowback::golden {
namespace {

// By the class of a block's last instruction alone.
class PlainJudge final : public CallJudge {
 public:
  bool IsUsual(const BlockRun&) override { return true; }
  StepMeaning Of(const BlockTable& table, BlockStep step, uint64_t) override {
    if (!step.taken()) return StepMeaning::kStays;
    switch (table[step.number()].last) {
      case InstructionClass::kCall:
      case InstructionClass::kIndirectCall:
        return StepMeaning::kCalls;
      case InstructionClass::kReturn:
        return StepMeaning::kReturns;
      case InstructionClass::kIndirectJump:
        return StepMeaning::kReplaces;
      case InstructionClass::kConditional:
      case InstructionClass::kJump:
      case InstructionClass::kOther:
        return StepMeaning::kStays;
      default:
        return StepMeaning::kUnusual;
    }
  }
};

struct Made {
  IndexContent content;
  std::vector<ShareCalls> calls;
  size_t gone_over = 0;
};

Made Make(const DecodeInput& input, uint64_t segment_bytes, bool goes_over) {
  const std::unique_ptr<Decoder> decoder = Engine("native");
  Result<std::unique_ptr<FlowReader>> reader = decoder->Read(input);
  EXPECT_TRUE(reader);
  PlainJudge judge;
  IndexBuilder builder(segment_bytes, goes_over);
  builder.FollowCalls(judge);
  EXPECT_TRUE(builder.Add(input, **reader).empty());
  SpaceNames spaces;
  spaces.Add(input);
  Made made{.content = builder.Take(spaces),
            .calls = builder.TakeCalls().at(0),
            .gone_over = builder.gone_over()};
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

// One segment's flow, from the state that an index has of its begin.
std::vector<uint64_t> FlowOf(FlowReader& reader, const IndexContent::Stream& stream, size_t at) {
  deliveries::PieceNumbers numbers;
  const auto state = reader.FromBytes(stream.State(at));
  EXPECT_NE(state, nullptr) << "segment " << at;
  if (state == nullptr) return {};
  reader.Return(*state);
  ReadSegment(reader, stream.segments[at], numbers);
  return numbers.numbers();
}

// The calls that a share leaves, and those that it returns from, block by block.
class CallsOfRuns final : public ExecutionConsumer {
 public:
  explicit CallsOfRuns(const ThreadStay* stay) : stay_(stay) {}
  void OnBlock(const BlockRun& run) override {
    if (run.stay != stay_) return;
    if (first_ == 0) first_ = run.address;
    if (run.exit != BlockExit::kTaken) return;
    const bool calls =
        run.last == InstructionClass::kCall || run.last == InstructionClass::kIndirectCall;
    if (calls) called_.push_back(run.LastAddress() + run.lengths.back());
    if (run.last != InstructionClass::kReturn) return;
    if (called_.empty())
      returned_.push_back(run.next);
    else
      called_.pop_back();
  }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss&) override {}
  void Expect(const char* which, const ShareCalls& calls) const {
    SCOPED_TRACE(which);
    EXPECT_EQ(calls.first, first_);
    EXPECT_EQ(calls.change.returned, returned_);
    EXPECT_TRUE(std::ranges::equal(calls.change.called.all(), called_));
  }

 private:
  const ThreadStay* stay_;
  uint64_t first_ = 0;
  std::vector<uint64_t> called_;
  std::vector<uint64_t> returned_;
};

// The noted calls, where all of them are usual, agree with the flow. Returns how many shares that
// were.
size_t ExpectSameCalls(const DecodeInput& input, const Made& over, const Made& full) {
  const IndexContent::Stream& stream = over.content.streams[0];
  EXPECT_EQ(over.calls.size(), stream.shares.size());
  const std::unique_ptr<Decoder> decoder = Engine("native");
  Result<std::unique_ptr<FlowReader>> reader = decoder->Read(input);
  EXPECT_TRUE(reader);
  size_t usual = 0;
  for (size_t i = 0; i < stream.shares.size(); ++i) {
    if (!over.calls[i].change.usual) continue;
    SCOPED_TRACE("share " + std::to_string(i));
    ++usual;
    EXPECT_TRUE(full.calls[i].change.usual);
    EXPECT_EQ(over.calls[i].next, full.calls[i].next);
    EXPECT_EQ(over.calls[i].change.replaced, full.calls[i].change.replaced);
    const uint32_t name = stream.shares[i].stay;
    CallsOfRuns runs(name == 0 ? nullptr : input.changes[name - 1].stay);
    const size_t segment = stream.shares[i].segment;
    (*reader)->Return(*(*reader)->FromBytes(stream.State(segment)));
    ReadSegment(**reader, stream.segments[segment], runs);
    runs.Expect("over", over.calls[i]);
    runs.Expect("full", full.calls[i]);
    if (::testing::Test::HasFailure()) break;
  }
  return usual;
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

class EndingJudge final : public CallJudge {
 public:
  bool IsUsual(const BlockRun&) override {
    EXPECT_FALSE(ended_);
    return true;
  }
  StepMeaning Of(const BlockTable&, BlockStep, uint64_t) override {
    EXPECT_FALSE(ended_);
    ++asked_;
    return StepMeaning::kStays;
  }
  void End() { ended_ = true; }
  size_t asked() const { return asked_; }

 private:
  bool ended_ = false;
  size_t asked_ = 0;
};

// A judge may go when its pass has ended, though the decoder that it was asked by makes more.
TEST(IndexBuilder, AsksNobodyBehindThePass) {
  FLOWBACK_NEEDS_TRACES();
  OpenedPerf opened;
  ASSERT_NO_FATAL_FAILURE(OpenPerf(PerfRecordings().front(), {}, opened));
  DecodeInput input = opened.inputs->For(opened.recording.streams.front());
  input.times = true;
  const std::unique_ptr<Decoder> decoder = Engine("native");
  EndingJudge judge;
  for (const bool follows : {true, false}) {
    Result<std::unique_ptr<FlowReader>> reader = decoder->Read(input);
    ASSERT_TRUE(reader);
    IndexBuilder builder(3'000);
    if (follows) builder.FollowCalls(judge);
    builder.Add(input, **reader);
    judge.End();
    EXPECT_EQ(builder.TakeCalls().empty(), !follows);
  }
  EXPECT_GT(judge.asked(), 0u);
}

TEST(IndexBuilder, GoesOverWhatNeedNotBeRead) {
  FLOWBACK_NEEDS_TRACES();
  size_t gone_over = 0;
  size_t usual = 0;
  for (const PerfRecording& recording : RecordingsToIndex())
    for (const Change& change : {Change(), Damaged(1 << 15)}) {
      OpenedPerf opened;
      ASSERT_NO_FATAL_FAILURE(OpenPerf(recording, change, opened));
      for (const Stream& stream : opened.recording.streams)
        for (const uint64_t segment_bytes :
             {uint64_t{3'000}, uint64_t{20'000}, uint64_t{131'072}}) {
          if (stream.bytes.size() > 500'000 && segment_bytes < 100'000) continue;
          // Damage, and sanitizers, find the same in shorter ones.
          constexpr size_t kEnough = FLOWBACK_SANITIZED ? 300'000 : 1'000'000;
          if ((change || FLOWBACK_SANITIZED) && stream.bytes.size() > kEnough) continue;
          SCOPED_TRACE(recording.name + " by " + std::to_string(segment_bytes) +
                       (change ? ", damaged" : ""));
          DecodeInput input = opened.inputs->For(stream);
          input.times = true;
          const Made over = Make(input, segment_bytes, true);
          const Made full = Make(input, segment_bytes, false);
          EXPECT_EQ(full.gone_over, 0u);
          gone_over += over.gone_over;
          ASSERT_NO_FATAL_FAILURE(ExpectSameIndex(input, over, full));
          usual += ExpectSameCalls(input, over, full);
          if (HasFailure()) return;
        }
    }
  EXPECT_GT(gone_over, 100u);
  EXPECT_GT(usual, 100u);
}

}  // namespace
}  // namespace flowback::golden
