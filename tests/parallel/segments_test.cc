// SPDX-License-Identifier: MIT
// A stream read in segments, from kept states and in any order, is the stream decoded in one go:
// in every field of every piece, times included.
#include "tests/support/segments.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tests/differential/harness.h"
#include "tests/threads/divided_stream.h"

namespace flowback::testing {
namespace {

using segments::ExpectSegmentsAreWhole;

template <class Which>
using ForEachEngine = ::testing::TestWithParam<std::tuple<std::string_view, Which>>;

class SegmentSeeds : public ForEachEngine<uint64_t> {};

TEST_P(SegmentSeeds, AreTheStream) {
  const auto [engine, shard] = GetParam();
  const Seeds seeds = SeedsOf(shard, 1 + 100 * shard, 100);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    GeneratorOptions options = MixedOptions(seed);
    const Subject subject(GenerateStream(options));
    const size_t size = std::vector<size_t>{0, 300, 3000}[seed % 3];
    ExpectSegmentsAreWhole(
        engine, subject.Input(seed % 2 == 0 ? Resync::kEarliest : Resync::kSyncPoint), size, seed);
    if (HasFatalFailure()) return;
  }
}

class DividedSegments : public ForEachEngine<Change> {};

// With stays, and with what makes the flow be lost.
TEST_P(DividedSegments, AreTheStream) {
  const auto [engine, change] = GetParam();
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    GeneratorOptions options = MixedOptions(seed);
    options.instructions = 20'000;
    if (options.psb_period == 0) options.psb_period = 512;
    const Subject subject(GenerateStream(options));
    const DividedStream stream(subject, change);
    SCOPED_TRACE(Describe(options));
    const size_t size = std::vector<size_t>{0, 300, 3000}[seed % 3];
    ExpectSegmentsAreWhole(
        engine, stream.Input(seed % 2 == 0 ? Resync::kEarliest : Resync::kSyncPoint), size, seed);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Changes, DividedSegments,
                         ::testing::Combine(::testing::ValuesIn(DecoderNames()),
                                            ::testing::Values(Change::kNone, Change::kCode,
                                                              Change::kBytes, Change::kGaps)));

INSTANTIATE_TEST_SUITE_P(Shard, SegmentSeeds,
                         ::testing::Combine(::testing::ValuesIn(DecoderNames()),
                                            ::testing::Range<uint64_t>(0, 5)));

}  // namespace
}  // namespace flowback::testing
