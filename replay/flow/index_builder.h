// SPDX-License-Identifier: MIT
// The first pass over streams, which finds out what an index knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "flowback/decode/decoder.h"
#include "replay/flow/executed_blocks.h"
#include "replay/flow/index_content.h"
#include "replay/flow/segment_steps.h"
#include "replay/flow/share_calls.h"
#include "replay/flow/space_names.h"

namespace flowback {

// So far apart are the places where a reader stops between Segment::stop and the segment's end.
inline constexpr uint64_t kStepToTime = 64;  // bytes

// The flow of a segment, again: in the same steps as the first time. REQUIRES: the reader stands
// where the segment begins.
void ReadSegment(FlowReader& reader, const IndexContent::Segment& segment,
                 ExecutionConsumer& consumer);

// The stays of an input by the names that they have in an index.
using StayNames = std::unordered_map<const ThreadStay*, uint32_t>;
StayNames NamesOfStays(const DecodeInput& input);

class IndexBuilder {
 public:
  // States at the begin of segments that do not support bytes, by number of segment.
  using Untold = std::map<size_t, std::shared_ptr<const FlowReader::State>>;

  // `goes_over`: it reads in full only what it must (see index_builder.cc); the index is the same.
  // `sample`: FlowIndex::Options has it.
  explicit IndexBuilder(uint64_t segment_bytes, bool goes_over = true, size_t sample = 17)
      : segment_bytes_(segment_bytes), goes_over_(goes_over), blocks_(sample) {}

  // What the flow does to call stacks is followed, too. The judge must outlive it.
  void FollowCalls(CallJudge& judge) { judge_ = &judge; }
  // Returns the calls of each stream's shares, in their order; empty if not wanted.
  std::vector<std::vector<ShareCalls>> TakeCalls() { return std::move(calls_); }

  // Which blocks executed in each segment is noted, too.
  void NoteSteps() { marks_.emplace(); }
  // Returns the steps of each stream's segments; empty if not wanted.
  std::vector<std::vector<SegmentSteps>> TakeSteps() { return std::move(steps_); }
  ToldRuns TakeRuns() { return marks_ ? marks_->TakeRuns() : ToldRuns(); }

  // Reads the next stream. REQUIRES: the reader stands at its begin. `events`, if not null,
  // receives the stream's events and losses.
  Untold Add(const DecodeInput& input, FlowReader& reader, ExecutionConsumer* events = nullptr);
  // Returns the result after the last stream.
  IndexContent Take(const SpaceNames& spaces);
  // Returns the number of segments mostly not read in full.
  size_t gone_over() const { return gone_over_; }

 private:
  class ShareCounter;

  void ReadNext(const DecodeInput& input, FlowReader& reader, const FlowReader::State& begin,
                ShareCounter& counter, IndexContent::Segment& segment);
  bool GoOver(const DecodeInput& input, FlowReader& reader, uint64_t stop, ShareCounter& counter);
  void TakeUses(FlowReader& reader);
  void EndStretchIfLong(FlowReader& reader, IndexContent::Stream& stream);
  void EndStretch(IndexContent::Stream& stream);
  void KeepCalls(std::vector<ShareCalls> calls);

  static constexpr size_t kMostAddresses = size_t{1} << 23;

  const uint64_t segment_bytes_;
  const bool goes_over_;
  CallJudge* judge_ = nullptr;  // null: calls are not followed
  std::vector<std::vector<ShareCalls>> calls_;
  std::optional<StepMarks> marks_;  // empty: steps are not noted
  std::vector<std::vector<SegmentSteps>> steps_;
  size_t addresses_ = 0;  // in calls_; beyond kMostAddresses the changes count as unusual
  size_t gone_over_ = 0;
  unsigned in_full_ = 0;  // coming segments to read in full
  IndexContent content_;
  ExecutedBlocks blocks_;
  // The hottest of each stretch, in the order of IndexContent::Stream::hot; streams one behind the
  // other.
  std::vector<ExecutedBlocks::Entry> hot_;
  uint64_t stretch_bytes_ = 0;  // of the stretch at hand
  size_t stretch_segments_ = 0;
  uint64_t needed_bytes_ = 0;  // it has, or the one before had, too many lines for fewer
};

}  // namespace flowback
