// SPDX-License-Identifier: MIT
#include "replay/flow/index_builder.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <variant>

#include "replay/flow/share_tracker.h"

namespace flowback {
namespace {

// Beside some kilobytes a state keeps all flow that waits for its time; directly after a packet
// with the time that is little. So a segment goes on to there, in steps, unless it is far. The
// place where a reader stops decides how much it has delivered: another read of the segment makes
// the same steps.
constexpr size_t kLittle = 128;

unsigned StepsToTime(FlowReader& reader, uint64_t stop, uint64_t size,
                     ExecutionConsumer& consumer) {
  unsigned steps = 0;
  for (size_t before = 0; reader.waiting() > kLittle && reader.waiting() >= before; ++steps) {
    if (reader.at_end() || steps * kStepToTime >= size / 8) break;
    before = reader.waiting();
    reader.ReadTo(stop + (steps + 1) * kStepToTime, consumer);
  }
  return steps;
}

// A stretch has as many segments as it takes until its filter has no more than this part of its
// bytes, or kMostSegments; then the filter gets fewer bits. It has kLeastSegments at least (but at
// the stream's end): which code executed is asked once for each stretch, and the answer takes time
// for each different path through the code.
constexpr uint64_t kFilterPart = 256;
constexpr size_t kLeastSegments = 8;
constexpr size_t kMostSegments = 16;
// The number of hottest blocks kept of a stretch.
constexpr size_t kHot = 16;

// A segment that can be skipped has only its begin and end read in full: there are its share's
// first and last times, and the kept state. The flow between is only counted, which takes half of
// the time. If the end is too short for all waiting flow, as where the trace seldom has the time,
// the segment is read again in full, and the next ones are, too.
//
//    | full |  gone over ............................ | full |
//    state                                            state of the next one
constexpr uint64_t kEndPart = 64;    // of the segment
constexpr uint64_t kBeginSteps = 8;  // of that size, until a time has come
constexpr unsigned kInFull = 16;     // segments

}  // namespace

// What each stay has in the segment at hand.
class IndexBuilder::ShareCounter final : public ExecutionConsumer {
 public:
  // `judge` and `marks` may be null.
  ShareCounter(const DecodeInput& input, ExecutedBlocks& blocks, ExecutionConsumer* events,
               CallJudge* judge, StepMarks* marks)
      : names_(NamesOfStays(input)),
        blocks_(blocks),
        events_(events),
        judge_(judge),
        marks_(marks) {}

  void OnBlock(const BlockRun& run) override {
    IndexContent::Share& share = Of(run.stay);
    share.instructions += run.lengths.size();
    Told(share, run.TscOf(0));
    Told(share, run.tsc);
    executed_ = true;
    blocks_.Add(run);
    if (marks_ != nullptr) marks_->Add(run);
    if (judge_ != nullptr) CallsOf(share).OnBlock(run);
  }
  void OnBlocks(const BlockBatch& batch) override {
    IndexContent::Share& share = Of(batch.stay);
    share.instructions += batch.instructions();
    Told(share, batch.first_tsc());
    Told(share, batch.last_tsc());
    executed_ = true;
    blocks_.Add(batch);
    if (marks_ != nullptr) marks_->Add(batch);
    if (judge_ != nullptr) CallsOf(share).OnBlocks(batch);
  }
  void OnEvent(const TraceEvent& event) override {
    IndexContent::Share& share = Of(event.stay);
    ++share.events;
    Told(share, event.tsc);
    if (judge_ != nullptr) CallsOf(share).OnEvent(event);
    if (marks_ != nullptr) marks_->Add(event);
    if (events_ != nullptr) waiting_.emplace_back(event);
  }
  void OnLoss(const DataLoss& loss) override {
    IndexContent::Share& share = Of(loss.stay);
    ++share.losses;
    Told(share, loss.tsc);
    if (judge_ != nullptr) CallsOf(share).NoteUnusual();
    if (events_ != nullptr) waiting_.emplace_back(loss);
  }
  void OnUnknown(const UnknownFlow& unknown) override {
    Told(Of(unknown.stay), unknown.tsc);
    if (judge_ != nullptr) CallsOf(Of(unknown.stay)).NoteUnusual();
  }

  // Adds instructions to the only stay, without other facts.
  void Add(uint64_t instructions) { shares_.front().instructions += instructions; }
  void Add(OverCalls calls) {
    if (judge_ != nullptr) calls_.front().ReadOver(std::move(calls));
  }
  // All belongs to one stay, whose first time is known.
  bool knows_begin() const { return shares_.size() == 1 && shares_.front().first_tsc != 0; }
  // Whether anything has executed since it was asked last.
  bool TakeExecuted() { return std::exchange(executed_, false); }
  // Forgets the segment at hand.
  void Clear() {
    shares_.clear();
    stays_.clear();
    calls_.clear();
    waiting_.clear();
  }
  // In the order in which the stays came first.
  void Take(size_t segment, std::vector<IndexContent::Share>& shares) {
    for (IndexContent::Share& share : shares_) {
      share.segment = static_cast<uint32_t>(segment);
      shares.push_back(share);
    }
    TellWaiting();
    Clear();
  }
  // In the same order. Ask before Take.
  std::vector<ShareCalls> TakeCalls() {
    std::vector<ShareCalls> calls;
    for (ShareTracker& tracker : calls_) calls.push_back(tracker.Take());
    return calls;
  }

 private:
  // Only now, as a segment may be read twice.
  void TellWaiting() {
    for (const auto& one : waiting_)
      if (const auto* event = std::get_if<TraceEvent>(&one))
        events_->OnEvent(*event);
      else
        events_->OnLoss(std::get<DataLoss>(one));
  }

  // Mostly the last one's.
  IndexContent::Share& Of(const ThreadStay* stay) {
    for (size_t i = stays_.size(); i-- != 0;)
      if (stays_[i] == stay) return shares_[i];
    stays_.push_back(stay);
    if (judge_ != nullptr) calls_.emplace_back(*judge_);
    return shares_.emplace_back(IndexContent::Share{.stay = names_.at(stay)});
  }
  ShareTracker& CallsOf(const IndexContent::Share& share) {
    return calls_[static_cast<size_t>(&share - shares_.data())];
  }
  static void Told(IndexContent::Share& share, uint64_t tsc) {
    if (tsc == 0) return;
    if (share.first_tsc == 0) share.first_tsc = tsc;
    share.last_tsc = std::max(share.last_tsc, tsc);
  }

  const StayNames names_;
  ExecutedBlocks& blocks_;
  std::vector<IndexContent::Share> shares_;
  std::vector<const ThreadStay*> stays_;                     // whose they are
  ExecutionConsumer* events_;                                // null: not requested
  std::vector<std::variant<TraceEvent, DataLoss>> waiting_;  // of the segment at hand
  bool executed_ = false;
  CallJudge* judge_;                 // null: calls are not followed
  std::vector<ShareTracker> calls_;  // of each share
  StepMarks* marks_;                 // null: steps are not noted
};

namespace {

// The profile's blocks: the hottest, up to 19 of 20 instructions, and those of `hot`, which are
// the hottest of some stretch.
using Entries = std::vector<ExecutedBlocks::Entry>;
using BlockPlace = std::pair<const AddressSpace*, uint64_t>;

Entries ProfileOf(const Entries& all, const Entries& hot, uint64_t instructions) {
  std::map<BlockPlace, bool> wanted;
  for (const ExecutedBlocks::Entry& entry : hot) wanted[{entry.space, entry.address}] = true;
  Entries profile;
  uint64_t before = 0;
  for (const ExecutedBlocks::Entry& entry : all) {
    if (before < instructions - instructions / 20 || wanted.contains({entry.space, entry.address}))
      profile.push_back(entry);
    before += entry.instructions;
  }
  return profile;
}

}  // namespace

void ReadSegment(FlowReader& reader, const IndexContent::Segment& segment,
                 ExecutionConsumer& consumer) {
  for (uint32_t step = 0; step <= segment.steps; ++step)
    reader.ReadTo(segment.stop + step * kStepToTime, consumer);
}

StayNames NamesOfStays(const DecodeInput& input) {
  StayNames names = {{nullptr, 0}};
  for (size_t i = 0; i < input.changes.size(); ++i)
    names.try_emplace(input.changes[i].stay, static_cast<uint32_t>(i + 1));
  return names;
}

IndexBuilder::Untold IndexBuilder::Add(const DecodeInput& input, FlowReader& reader,
                                       ExecutionConsumer* events) {
  Untold untold;
  IndexContent::Stream& stream = content_.streams.emplace_back();
  stream.bytes = input.bytes.size();
  ShareCounter counter(input, blocks_, events, judge_, marks_ ? &*marks_ : nullptr);
  if (marks_) steps_.emplace_back();
  if (judge_ != nullptr) {
    reader.FollowCalls(judge_);
    calls_.emplace_back();
  }
  while (!reader.at_end()) {
    const size_t number = stream.segments.size();
    const uint64_t begin = reader.offset();
    const auto state = reader.Save();
    const std::vector<uint8_t> told = reader.ToBytes(*state);
    if (told.empty()) untold[number] = state;
    stream.states.insert(stream.states.end(), told.begin(), told.end());
    IndexContent::Segment& segment = stream.segments.emplace_back();
    segment = {.stop = begin + segment_bytes_,
               .stretch = static_cast<uint32_t>(stream.stretches.size()),
               .state_end = stream.states.size()};
    ReadNext(input, reader, *state, counter, segment);
    if (judge_ != nullptr) KeepCalls(counter.TakeCalls());
    if (marks_) {
      TakeUses(reader);
      steps_.back().push_back(marks_->Take());
    }
    counter.Take(number, stream.shares);
    ++stretch_segments_;
    stretch_bytes_ += reader.offset() - begin;
    EndStretchIfLong(reader, stream);
  }
  TakeUses(reader);
  if (judge_ != nullptr) reader.FollowCalls(nullptr);
  if (stretch_segments_ != 0) EndStretch(stream);
  stream.states.shrink_to_fit();
  return untold;
}

void IndexBuilder::ReadNext(const DecodeInput& input, FlowReader& reader,
                            const FlowReader::State& begin, ShareCounter& counter,
                            IndexContent::Segment& segment) {
  const auto finish = [&] {
    reader.ReadTo(segment.stop, counter);
    segment.steps = StepsToTime(reader, segment.stop, segment_bytes_, counter);
  };
  if (!goes_over_ || in_full_ != 0) {
    in_full_ -= in_full_ != 0 ? 1 : 0;
    return finish();
  }
  if (!GoOver(input, reader, segment.stop, counter)) return finish();
  counter.TakeExecuted();
  finish();
  if (!reader.is_whole() || !counter.TakeExecuted()) {
    TakeUses(reader);  // executed they were
    reader.Return(begin);
    counter.Clear();
    in_full_ = kInFull;
    blocks_.set_counts(false);
    finish();
    return blocks_.set_counts(true);
  }
  ++gone_over_;
}

void IndexBuilder::KeepCalls(std::vector<ShareCalls> calls) {
  for (ShareCalls& share : calls) {
    if (!share.change.usual || addresses_ + share.change.size() > kMostAddresses) share = {};
    addresses_ += share.change.size();
    calls_.back().push_back(std::move(share));
  }
}

// Takes the uses of all skipped flow since the last call.
void IndexBuilder::TakeUses(FlowReader& reader) {
  reader.TakeUses(
      [this](const BlockTable& table, uint32_t block, uint64_t instructions, uint8_t ways) {
        blocks_.Add(table, block, instructions);
        if (marks_) marks_->Add(table, block, ways);
      });
}

// All but the segment's last part. False: it must be read in full, from where the reader stands.
bool IndexBuilder::GoOver(const DecodeInput& input, FlowReader& reader, uint64_t stop,
                          ShareCounter& counter) {
  const uint64_t begin = reader.offset();
  const uint64_t part = segment_bytes_ / kEndPart;
  const auto changes = [&](const auto& sorted, auto offset) {
    const auto next = std::ranges::upper_bound(sorted, begin, {}, offset);
    return next != sorted.end() && std::invoke(offset, *next) <= stop + segment_bytes_ / 4;
  };
  if (stop + segment_bytes_ > input.bytes.size() || changes(input.changes, &StayChange::offset) ||
      changes(input.gaps, &StreamGap::offset))
    return false;
  for (uint64_t step = 1; step <= kBeginSteps && !counter.knows_begin(); ++step)
    reader.ReadTo(begin + step * part, counter);
  if (!counter.knows_begin()) return false;
  const auto instructions = reader.ReadOver(stop - part, counter);
  if (instructions) counter.Add(*instructions);
  if (OverCalls calls; instructions && reader.TakeCalls(calls)) counter.Add(std::move(calls));
  return instructions.has_value();
}

// Nor is it asked while the stretch has fewer bytes than the last one needed.
void IndexBuilder::EndStretchIfLong(FlowReader& reader, IndexContent::Stream& stream) {
  const bool most = stretch_segments_ == kMostSegments;
  if (!most && (stretch_segments_ < kLeastSegments || stretch_bytes_ < needed_bytes_)) return;
  TakeUses(reader);
  needed_bytes_ = LineFilter::WordsFor(blocks_.Lines().size()) * sizeof(uint64_t) * kFilterPart;
  if (most || stretch_bytes_ >= needed_bytes_) EndStretch(stream);
}

void IndexBuilder::EndStretch(IndexContent::Stream& stream) {
  const std::vector<Line>& lines = blocks_.Lines();
  if (!lines.empty()) {
    const uint64_t most = std::max<uint64_t>(stretch_bytes_ / kFilterPart / sizeof(uint64_t), 1);
    const auto words = std::min<size_t>(LineFilter::WordsFor(lines.size()), most);
    const std::vector<uint64_t> filter = LineFilter::Of(lines, words);
    stream.filters.insert(stream.filters.end(), filter.begin(), filter.end());
  }
  for (const ExecutedBlocks::Entry& entry : blocks_.EndStretch(kHot)) {
    stream.hot.push_back({.instructions = entry.instructions});
    hot_.push_back(entry);
  }
  stream.stretches.push_back({stream.filters.size(), stream.hot.size()});
  stretch_bytes_ = 0;
  stretch_segments_ = 0;
}

IndexContent IndexBuilder::Take(const SpaceNames& spaces) {
  const Entries all = blocks_.All();
  for (const ExecutedBlocks::Entry& entry : all) content_.instructions += entry.instructions;
  std::map<BlockPlace, uint64_t> numbers;
  for (const ExecutedBlocks::Entry& entry : ProfileOf(all, hot_, content_.instructions)) {
    numbers[{entry.space, entry.address}] = content_.profile.size();
    content_.profile.push_back({spaces.Of(entry.space), entry.address, entry.instructions});
  }
  auto entry = hot_.begin();
  for (IndexContent::Stream& stream : content_.streams)
    for (IndexContent::Hot& hot : stream.hot) {
      hot.block = numbers.at({entry->space, entry->address});
      ++entry;
    }
  return std::exchange(content_, {});
}

}  // namespace flowback
