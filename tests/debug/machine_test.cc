// SPDX-License-Identifier: MIT
// The machine against the whole listing of generated flows: random commands, forward and backward,
// of one thread and of all, must lead where the listing says.
#include "replay/debug/machine/machine.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/debug/machine_commands.h"
#include "tests/differential/harness.h"
#include "tests/threads/divided_stream.h"

namespace flowback::testing {
namespace {

using listed::Commands;
using listed::ListedMachine;

// The stays of a divided stream, dealt out to a few threads.
class MachineTest : public ::testing::TestWithParam<Change> {
 protected:
  static std::vector<ThreadFlow> Deal(const DividedStream& divided, size_t threads) {
    std::vector<ThreadFlow> flows(threads);
    size_t next = 0;
    for (const FlowPiece& piece : divided.Pieces()) {
      flows[next % threads].tid = static_cast<int32_t>(next % threads);
      flows[next++ % threads].pieces.push_back(piece);
    }
    return flows;
  }
};

TEST_P(MachineTest, GoesWhereTheListingSays) {
  size_t places = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    GeneratorOptions options = MixedOptions(seed);
    options.instructions = 3'000;
    const Subject subject(GenerateStream(options));
    const DividedStream divided(subject, GetParam());
    SCOPED_TRACE(Describe(options));
    DecodeInput input = divided.Input(seed % 2 == 0 ? Resync::kEarliest : Resync::kSyncPoint);
    input.times = true;
    const std::vector<ThreadFlow> flows = Deal(divided, 1 + seed % 11);
    const std::unique_ptr<Decoder> decoder = Native();
    Result<FlowIndex> index = FlowIndex::Build({{&divided.stream(), &input}}, flows, *decoder,
                                               {.times = true, .segment_bytes = 100 * seed});
    ASSERT_TRUE(index) << index.error().message();
    listed::Listing listing;
    ASSERT_TRUE(decoder->Decode(input, listing));
    std::vector<std::vector<listed::Listed>> truth;
    std::vector<size_t> threads;
    for (size_t i = 0; i < flows.size(); ++i) {
      threads.push_back(i);
      if (index->threads()[i].instructions == 0) continue;
      std::vector<const ThreadStay*> stays;
      for (const FlowPiece& piece : flows[i].pieces) stays.push_back(piece.stay);
      truth.push_back(listing.Of(stays));
      places += truth.back().size();
    }
    ReplayedMachine machine(*index, threads);
    ASSERT_EQ(machine.size(), truth.size());
    if (machine.size() == 0) continue;
    ListedMachine oracle(std::move(truth));
    Commands(machine, oracle, seed).Run(200);
    if (HasFailure()) return;
  }
  EXPECT_GT(places, 5'000u);
}

INSTANTIATE_TEST_SUITE_P(Changes, MachineTest,
                         ::testing::Values(Change::kNone, Change::kCode, Change::kBytes,
                                           Change::kGaps));

}  // namespace
}  // namespace flowback::testing
