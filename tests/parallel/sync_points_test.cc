// SPDX-License-Identifier: MIT
// Decoded from a sync point on, the flow and the bounds of its times are those of the whole stream.
// What shows a span of time alone (RangeOfTimes) stands on that.
#include "decode/pt/source/sync_points.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/recorded/pt_config.h"
#include "tests/differential/harness.h"
#include "tests/support/flow_of.h"

namespace flowback::testing {
namespace {

struct Told {
  uint64_t address = 0;
  uint64_t lo = 0;
  uint64_t hi = 0;
  bool operator==(const Told&) const = default;
};

std::vector<Told> Decode(const DecodeInput& input) {
  const std::unique_ptr<Decoder> decoder = Native();
  std::vector<Told> told;
  uint64_t outside = 0;  // estimates that are not within their bounds
  ForEachInstruction(FlowOf(*decoder, input), [&](const BlockRun& run, size_t i, uint64_t at) {
    const auto& [address, lo, hi] = told.emplace_back(at, run.BoundsOf(i).lo, run.BoundsOf(i).hi);
    if (run.TscOf(i) < lo || (hi != 0 && run.TscOf(i) > hi)) ++outside;
  });
  EXPECT_EQ(outside, 0);
  return told;
}

// At how many places it was begun.
int ExpectSameFromSyncPoints(DecodeInput input) {
  constexpr int kPlaces = 6;
  Stream stream;
  stream.bytes = input.bytes;
  stream.gaps = input.gaps;
  const std::vector<Told> whole = Decode(input);
  int begun = 0;
  for (int place = 1; place < kPlaces; ++place) {
    const uint64_t offset = input.bytes.size() * static_cast<uint64_t>(place) / kPlaces;
    input.from = pt::SyncPointBefore(stream, PtConfigOf(input.config).cpu, offset);
    if (input.from == 0) continue;
    const std::vector<Told> rest = Decode(input);
    EXPECT_LE(rest.size(), whole.size());
    EXPECT_TRUE(
        std::ranges::equal(rest, std::span(whole).last(std::min(rest.size(), whole.size()))))
        << "from " << input.from << " on";
    ++begun;
  }
  return begun;
}

TEST(SyncPoints, TellTheFlowAndItsBounds) {
  int begun = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    GeneratorOptions options = MixedOptions(seed);
    options.instructions = 60'000;
    options.psb_period = 1024;
    options.tsc = true;
    const Subject subject(GenerateStream(options));
    SCOPED_TRACE(Describe(options));
    DecodeInput input = subject.Input(Resync::kEarliest);
    input.times = true;
    begun += ExpectSameFromSyncPoints(input);
    if (HasFailure()) return;
  }
  EXPECT_GE(begun, 150);
}

}  // namespace
}  // namespace flowback::testing
