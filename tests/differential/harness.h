// SPDX-License-Identifier: MIT
// Runs decoders on generated streams and sums up their output.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "flowback/decode/decoder.h"
#include "tests/support/generator/stream_generator.h"

namespace flowback::testing {

// The sums of one pass over a stream, piece by piece.
struct Seen {
  FlowSummary sum;
  ByteAccount account;
};

// A stream with its code, ready to be decoded whole or in parts.
class Subject {
 public:
  explicit Subject(GeneratedStream stream);
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  const GeneratedStream& stream() const { return stream_; }
  const GeneratedTruth& truth() const { return stream_.truth; }
  DecodeInput Input(Bytes bytes, Resync resync) const;
  DecodeInput Input(Resync resync = Resync::kEarliest) const {
    return Input(stream_.bytes, resync);
  }

 private:
  GeneratedStream stream_;
  AddressSpaceHistory code_;
};

// Sums up on several threads, cut into many pieces, and expects what one thread found.
void ExpectSameInParallel(Decoder& decoder, const DecodeInput& input, const FlowSummary& serial);

// Sums up in the decode that delivers the events and losses with their times, and expects the same.
void ExpectSameWithEvents(Decoder& decoder, const DecodeInput& input, const FlowSummary& serial);

// The losses' times, in both.
void ExpectSameTimes(const FlowSummary& sum, const FlowSummary& other);

// Fails the running test when the decoder can't be set up.
Seen DecodeAll(Decoder& decoder, const DecodeInput& input);
// The same with times, which have to be in order: `disorder` counts those that are not, or that lie
// outside their own bounds.
Seen DecodeWithTimes(Decoder& decoder, DecodeInput input, size_t& disorder);
FlowSummary SummarizeAll(Decoder& decoder, const DecodeInput& input);

// The fields that the flow determines, one a line; equal texts are equal flows.
std::string CountsText(const FlowTotals& sum);
std::string CountsText(const GeneratedTruth& truth);
std::string LossText(const DataLoss& loss);
std::string DigestText(const FlowDigest& digest);
template <class Losses>
std::string LossesText(const Losses& losses) {
  std::string text;
  for (const DataLoss& loss : losses) text += LossText(loss);
  return text.empty() ? "no losses\n" : text;
}

// The seeds [first, first + count).
struct Seeds {
  uint64_t first = 0;
  uint64_t count = 0;
  bool usual = true;
};
// Returns the seeds of a shard: `count` of them, from `first` on for shard 0. With
// FLOWBACK_SEEDS=FIRST:COUNT in the environment (tests/soak) shard 0 has those instead, and the
// others none.
Seeds SeedsOf(uint64_t shard, uint64_t first, uint64_t count);

std::unique_ptr<Decoder> Native();
// Null in a build without libipt.
std::unique_ptr<Decoder> Reference();

}  // namespace flowback::testing
