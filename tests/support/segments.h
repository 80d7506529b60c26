// SPDX-License-Identifier: MIT
// A stream read in segments, from kept states and in any order, is the stream decoded in one go:
// in every field of every piece, times included.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flowback/decode/decoder.h"
#include "flowback/decode/flow_reader.h"
#include "flowback/model/flow_segment.h"
#include "tests/support/exact_flow.h"

namespace flowback::segments {

using deliveries::PieceNumbers;

// Segments as they were read, with the state before each.
struct Segments {
  std::vector<std::shared_ptr<const FlowReader::State>> before;
  std::vector<FlowSegment> segments;
};

// In words: piece number `shown`.
inline PieceNumbers Whole(Decoder& decoder, const DecodeInput& input,
                          size_t shown = PieceNumbers::kAll) {
  PieceNumbers numbers(PieceNumbers::kAll, shown);
  EXPECT_TRUE(decoder.Decode(input, numbers));
  return numbers;
}

inline PieceNumbers Played(const std::vector<FlowSegment>& segments,
                           size_t shown = PieceNumbers::kAll) {
  PieceNumbers numbers(PieceNumbers::kAll, shown);
  for (const FlowSegment& segment : segments) segment.Play(numbers);
  return numbers;
}

inline void ExpectPlayed(const std::vector<FlowSegment>& segments, Decoder& decoder,
                         const DecodeInput& input, const char* order) {
  const PieceNumbers whole = Whole(decoder, input);
  const PieceNumbers played = Played(segments);
  const std::vector<uint64_t>& a = whole.numbers();
  const std::vector<uint64_t>& b = played.numbers();
  if (a == b) return;
  const size_t at = static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  FAIL() << order << ", piece " << at << " of " << a.size() << ", " << b.size()
         << "\nwhole:        " << Whole(decoder, input, at).text()
         << "\nin segments: " << Played(segments, at).text();
}

// What executes next is what the piece before says executes next, where it says so.
class PlaceJudge final : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun& run) override {
    if (place_.GoesOn() && !run.lengths.empty()) {
      EXPECT_EQ(run.address, place_.ip);
      ++judged_;
    }
    place_ = Behind(run);
  }
  void OnEvent(const TraceEvent& event) override { place_ = Behind(event, place_); }
  void OnLoss(const DataLoss&) override { place_ = {}; }
  void OnUnknown(const UnknownFlow& unknown) override { place_ = Behind(unknown); }

  const FlowPlace& place() const { return place_; }
  uint64_t judged() const { return judged_; }

 private:
  FlowPlace place_;
  uint64_t judged_ = 0;
};

// A segment ends with what its last piece says, and the next one begins with that.
inline void ExpectBordersHold(const std::vector<FlowSegment>& segments) {
  PlaceJudge judge;
  size_t pieces = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    EXPECT_EQ(segments[i].begin(), judge.place()) << "segment " << i;
    segments[i].Play(judge);
    EXPECT_EQ(segments[i].end(), judge.place()) << "segment " << i;
    pieces += segments[i].size();
    if (::testing::Test::HasFailure()) FAIL() << "segment " << i << " of " << segments.size();
  }
  if (pieces > 100) {
    EXPECT_GT(judge.judged(), 0);
  }
}

inline Segments ReadInOrder(FlowReader& reader, size_t size) {
  Segments segments;
  FlowPlace place;
  while (!reader.at_end()) {
    segments.before.push_back(reader.Save());
    SegmentRecorder recorder(segments.segments.emplace_back(), place);
    reader.ReadTo(reader.offset() + size, recorder);
    place = segments.segments.back().end();
  }
  return segments;
}

inline std::vector<size_t> AnyOrder(const Segments& segments, uint64_t seed) {
  std::vector<size_t> order(segments.before.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::shuffle(order, std::mt19937_64(seed));
  return order;
}

// The state, made again of its bytes by a reader whose decoder has seen nothing of the stream.
inline std::shared_ptr<const FlowReader::State> Told(const FlowReader& teller,
                                                     const FlowReader::State& state,
                                                     FlowReader& listener) {
  const std::vector<uint8_t> bytes = teller.ToBytes(state);
  EXPECT_FALSE(bytes.empty());
  std::shared_ptr<const FlowReader::State> made = listener.FromBytes(bytes);
  EXPECT_NE(made, nullptr) << bytes.size() << " bytes";
  if (made != nullptr) {
    EXPECT_EQ(listener.ToBytes(*made), bytes);
  }
  return made;
}

// The same segments again, by such a reader, in any order.
inline void ReadTold(const FlowReader& teller, FlowReader& listener, size_t size, uint64_t seed,
                     Segments& segments) {
  for (const size_t i : AnyOrder(segments, seed + 1)) {
    const auto state = Told(teller, *segments.before[i], listener);
    if (state == nullptr) return;
    listener.Return(*state);
    FlowSegment again;
    SegmentRecorder recorder(again);
    listener.ReadTo(listener.offset() + size, recorder);
    segments.segments[i] = std::move(again);
  }
}

// libipt goes back to where a walk began and walks again, maybe all of the stream: so some states
// must do, and of a long stream few. The native engine goes back to each.
inline size_t MostReadAgain(std::string_view engine, size_t bytes) {
  constexpr size_t kBytesOfSlow = size_t{20} << 20;
  if (engine == "native") return ~size_t{0};
  return std::clamp<size_t>(kBytesOfSlow / std::max<size_t>(bytes, 1), 4, 40);
}

// The same segments again, at most `most` of them, in any order.
inline void ReadAgain(FlowReader& reader, size_t size, uint64_t seed, Segments& segments,
                      size_t most) {
  std::vector<size_t> order = AnyOrder(segments, seed);
  order.resize(std::min(order.size(), most));
  for (const size_t i : order) {
    reader.Return(*segments.before[i]);
    FlowSegment again;
    SegmentRecorder recorder(again, segments.segments[i].begin());
    reader.ReadTo(reader.offset() + size, recorder);
    EXPECT_EQ(again.instructions(), segments.segments[i].instructions()) << "segment " << i;
    segments.segments[i] = std::move(again);
  }
}

inline void ExpectSegmentsAreWhole(std::string_view engine, DecodeInput input, size_t size,
                                   uint64_t seed) {
  const Result<std::unique_ptr<Decoder>> decoder = MakeDecoder(engine);
  ASSERT_TRUE(decoder) << decoder.error().message();
  for (const bool times : {false, true}) {
    if (!times && engine != "native") continue;  // the others give the same with times
    SCOPED_TRACE(std::string(engine) + (times ? " with times" : " without times"));
    input.times = times;
    auto reader = (*decoder)->Read(input);
    ASSERT_TRUE(reader) << reader.error().message();
    Segments segments = ReadInOrder(**reader, size);
    ExpectPlayed(segments.segments, **decoder, input, "in order");
    // By this reader, or by one that has read nothing yet.
    const DecodeInput equal = input;
    auto other_reader = (*decoder)->Read(equal);
    ASSERT_TRUE(other_reader) << other_reader.error().message();
    ReadAgain(seed % 2 == 0 ? **reader : **other_reader, size, seed, segments,
              MostReadAgain(engine, input.bytes.size()));
    ExpectPlayed(segments.segments, **decoder, input, "in any order");
    ExpectBordersHold(segments.segments);
    if (engine != "native") continue;  // the others' states do not support bytes
    const Result<std::unique_ptr<Decoder>> other = MakeDecoder(engine);
    auto listener = (*other)->Read(input);
    ASSERT_TRUE(listener) << listener.error().message();
    ReadTold(**reader, **listener, size, seed, segments);
    ExpectPlayed(segments.segments, **decoder, input, "from states that were told in bytes");
    if (::testing::Test::HasFailure()) FAIL() << size << " bytes each";
  }
}

}  // namespace flowback::segments
