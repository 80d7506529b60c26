// SPDX-License-Identifier: MIT
// Streams decoded in pieces: that guesses are mostly right, and that wrong ones are noticed.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include "decode/pt/engine/flow_bind.h"
#include "decode/pt/engine/flow_hot.h"
#include "decode/pt/engine/flow_memo.h"
#include "decode/pt/engine/flow_packets.h"
#include "decode/pt/engine/flow_sync.h"
#include "decode/pt/engine/flow_walk.h"
#include "decode/pt/memo/memo_cache.h"
#include "decode/pt/parallel_count.h"
#include "tests/differential/harness.h"

namespace flowback::testing {
namespace {

pt::ParallelReport Count(const DecodeInput& input, FlowSummary& summary) {
  std::deque<pt::CodeMemory> memory(4);
  pt::ParallelCounter<pt::CountingSink> counter(input, memory, 1, 8);
  summary = counter.Run();
  return counter.report();
}

GeneratorOptions Options(uint64_t seed) {
  GeneratorOptions options = MixedOptions(seed);
  options.instructions = 60'000;
  return options;
}

TEST(Pieces, GuessesAreRightInWholeStreams) {
  size_t pieces = 0;
  size_t again = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const Subject subject(GenerateStream(Options(seed)));
    FlowSummary summary;
    const pt::ParallelReport report = Count(subject.Input(), summary);
    EXPECT_EQ(CountsText(summary), CountsText(subject.truth())) << seed;
    pieces += report.segments;
    again += report.again;
  }
  std::printf("%zu pieces, %zu decoded again\n", pieces, again);
  EXPECT_GT(pieces, 300);
  EXPECT_GT(again, 0) << "some PSB+ stand between an OVF and what resolves it";
  EXPECT_LT(again, pieces / 5);
}

// A piece that begins with the PSB+ alone says nothing of the loss before it.
TEST(Pieces, ALossBeforeAPsbIsTheSame) {
  GeneratedStream stream = GenerateStream(Options(3));
  const size_t first = pt::FindPsb(stream.bytes, 0);
  const size_t second = pt::FindPsb(stream.bytes, first + 16);
  ASSERT_LT(second, stream.bytes.size());
  // The flow before the second PSB+ ends in a loss that only --resync psb carries up to it.
  std::fill(stream.bytes.begin() + second - 8, stream.bytes.begin() + second, 0xff);
  const Subject subject(std::move(stream));
  FlowSummary summary;
  const pt::ParallelReport report = Count(subject.Input(Resync::kSyncPoint), summary);
  const FlowSummary serial = SummarizeAll(*Native(), subject.Input(Resync::kSyncPoint));
  EXPECT_EQ(CountsText(summary), CountsText(serial));
  EXPECT_EQ(LossesText(summary.losses), LossesText(serial.losses));
  EXPECT_GT(report.segments, 2);
}

// The stream with up to five ranges left out, each a gap.
struct Holed {
  std::vector<uint8_t> bytes;
  std::vector<StreamGap> gaps;
};

Holed WithHoles(const std::vector<uint8_t>& whole, std::mt19937_64& random) {
  std::vector<size_t> places;
  for (int i = 0; i < 5; ++i) {
    size_t at = random() % whole.size();
    // Next to a PSB, inside it, inside what follows it.
    if (i % 2 == 1) at = std::min(pt::FindPsb(whole, at) + random() % 40, whole.size());
    places.push_back(at - std::min<size_t>(at, i == 3 ? 20 : 0));
  }
  std::ranges::sort(places);
  Holed holed;
  size_t from = 0;
  for (const size_t at : places) {
    if (at < from) continue;
    holed.bytes.insert(holed.bytes.end(), whole.begin() + from, whole.begin() + at);
    holed.gaps.push_back({holed.bytes.size(), "AUX data truncated"});
    from = std::min(at + random() % 3 * (random() % 200), whole.size());
  }
  holed.bytes.insert(holed.bytes.end(), whole.begin() + from, whole.end());
  return holed;
}

TEST(Pieces, GapsAreTheSameInPieces) {
  std::mt19937_64 random(7);
  size_t lost = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const Subject subject(GenerateStream(Options(seed)));
    const Holed holed = WithHoles(subject.stream().bytes, random);
    DecodeInput input =
        subject.Input(holed.bytes, seed % 3 == 0 ? Resync::kSyncPoint : Resync::kEarliest);
    input.gaps = holed.gaps;
    const FlowSummary serial = SummarizeAll(*Native(), input);
    for (const DataLoss& loss : serial.losses)
      lost += loss.cause == LossCause::kAuxLost || loss.cause == LossCause::kTruncated;
    ExpectSameInParallel(*Native(), input, serial);
    ExpectSameWithEvents(*Native(), input, serial);
    EXPECT_EQ(serial.bytes_decoded + serial.bytes_padding + serial.bytes_lost, holed.bytes.size());
  }
  EXPECT_GT(lost, 150);
}

}  // namespace
}  // namespace flowback::testing
