// SPDX-License-Identifier: MIT
// A stream read in segments, from kept states and in any order, is the stream decoded in one go:
// in every field of every piece, times included.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "decode/pt/native_decoder.h"
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

inline Segments ReadInOrder(FlowReader& reader, size_t size) {
  Segments segments;
  while (!reader.at_end()) {
    segments.before.push_back(reader.Save());
    SegmentRecorder recorder(segments.segments.emplace_back());
    reader.ReadTo(reader.offset() + size, recorder);
  }
  return segments;
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
                     Segments& segments, std::vector<size_t> order) {
  std::ranges::shuffle(order, std::mt19937_64(seed + 1));
  for (const size_t i : order) {
    const auto state = Told(teller, *segments.before[i], listener);
    if (state == nullptr) return;
    listener.Return(*state);
    FlowSegment again;
    SegmentRecorder recorder(again);
    listener.ReadTo(listener.offset() + size, recorder);
    segments.segments[i] = std::move(again);
  }
}

// The same segments again, in any order.
inline void ReadAgain(FlowReader& reader, size_t size, uint64_t seed, Segments& segments,
                      std::vector<size_t> order) {
  std::ranges::shuffle(order, std::mt19937_64(seed));
  for (const size_t i : order) {
    reader.Return(*segments.before[i]);
    FlowSegment again;
    SegmentRecorder recorder(again);
    reader.ReadTo(reader.offset() + size, recorder);
    EXPECT_EQ(again.instructions(), segments.segments[i].instructions()) << "segment " << i;
    segments.segments[i] = std::move(again);
  }
}

inline void ExpectSegmentsAreWhole(DecodeInput input, size_t size, uint64_t seed) {
  for (const bool times : {false, true}) {
    SCOPED_TRACE(times ? "with times" : "without times");
    input.times = times;
    const std::unique_ptr<Decoder> decoder = pt::MakeNativeDecoder();
    auto reader = decoder->Read(input);
    ASSERT_TRUE(reader) << reader.error().message();
    Segments segments = ReadInOrder(**reader, size);
    ExpectPlayed(segments.segments, *decoder, input, "in order");
    std::vector<size_t> order(segments.before.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    ReadAgain(**reader, size, seed, segments, order);
    ExpectPlayed(segments.segments, *decoder, input, "in any order");
    const std::unique_ptr<Decoder> other = pt::MakeNativeDecoder();
    auto listener = other->Read(input);
    ASSERT_TRUE(listener) << listener.error().message();
    ReadTold(**reader, **listener, size, seed, segments, order);
    ExpectPlayed(segments.segments, *decoder, input, "from states that were told in bytes");
    if (::testing::Test::HasFailure()) FAIL() << size << " bytes each";
  }
}

}  // namespace flowback::segments
