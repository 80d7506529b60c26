// SPDX-License-Identifier: MIT
// Each stay's flow decoded by itself, from the last sync point before it, as listings do: the same
// flow and losses that decoding the whole stream gives it. On generated streams, which are divided
// among stays at random places; whole ones, ones without some of the code, with bytes that are
// wrong, and with gaps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "flowback/model/block_batch.h"
#include "flowback/replay/threads.h"
#include "tests/differential/harness.h"
#include "tests/support/flow_consumers.h"
#include "tests/threads/divided_stream.h"

namespace flowback::testing {
namespace {

constexpr uint64_t kSeeds = 120;

GeneratorOptions Options(uint64_t seed) {
  GeneratorOptions options = MixedOptions(seed);
  options.instructions = 20'000;
  if (options.psb_period == 0) options.psb_period = 512;
  return options;
}

// The flow of each stay.
class ByStay final : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun& run) override { AppendRun(run, of_[run.stay].digest); }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss& loss) override { of_[loss.stay].losses.push_back(loss); }

  std::string Text(const ThreadStay* stay) {
    return DigestText(of_[stay].digest) + "\n" + LossesText(of_[stay].losses);
  }
  size_t stays() const { return of_.size(); }

 private:
  struct Told {
    FlowDigest digest;
    std::vector<DataLoss> losses;
  };
  std::map<const ThreadStay*, Told> of_;
};

void ExpectPiecesAreTheWhole(Decoder& decoder, const DividedStream& stream, Resync resync) {
  const DecodeInput input = stream.Input(resync);
  Recording recording;
  recording.config = input.config;
  const Result<std::shared_ptr<const TraceSource>> source = OpenSource(recording);
  ASSERT_TRUE(source);
  ByStay whole;
  ASSERT_TRUE(decoder.Decode(input, whole));
  for (const FlowPiece& piece : stream.Pieces()) {
    ByStay alone;
    ASSERT_TRUE(DecodePiece(piece, input, **source, decoder, alone));
    EXPECT_EQ(alone.Text(piece.stay), whole.Text(piece.stay))
        << "stay " << piece.stay->tid << ", bytes [" << piece.begin << ", " << piece.end
        << "), decoded from " << DecodeFrom(piece, **source);
    EXPECT_LE(alone.stays(), 1);
  }
}

class StaysByThemselves : public ::testing::TestWithParam<Change> {};

TEST_P(StaysByThemselves, AreThoseOfTheWholeStream) {
  const std::unique_ptr<Decoder> native = Native();
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Subject subject(GenerateStream(Options(seed)));
    const DividedStream stream(subject, GetParam());
    SCOPED_TRACE(Describe(subject.stream().options));
    for (const Resync resync : {Resync::kSyncPoint, Resync::kEarliest}) {
      SCOPED_TRACE(resync == Resync::kSyncPoint ? "psb" : "earliest");
      ExpectPiecesAreTheWhole(*native, stream, resync);
    }
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Changes, StaysByThemselves,
                         ::testing::Values(Change::kNone, Change::kCode, Change::kBytes,
                                           Change::kGaps));

}  // namespace
}  // namespace flowback::testing
