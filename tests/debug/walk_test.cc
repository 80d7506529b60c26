// SPDX-License-Identifier: MIT
// One thread's walk, its searches, and the counts of visits.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "replay/debug/machine/machine.h"
#include "tests/debug/listed_machine.h"
#include "tests/differential/harness.h"
#include "tests/support/random.h"
#include "tests/threads/divided_stream.h"

namespace flowback::testing {
namespace {

// A generated flow of one thread with its listing.
class OneThread {
 public:
  explicit OneThread(uint64_t seed, uint64_t instructions = 5'000, uint64_t segment_bytes = 300)
      : subject_(GenerateStream(OptionsOf(seed, instructions))),
        divided_(subject_, Change::kNone),
        input_(divided_.Input(Resync::kEarliest)),
        decoder_(Native()) {
    input_.times = true;
    flows_.resize(1);
    flows_[0].pieces = divided_.Pieces();
    auto index = FlowIndex::Build({{&divided_.stream(), &input_}}, flows_, *decoder_,
                                  {.times = true, .segment_bytes = segment_bytes});
    EXPECT_TRUE(index);
    if (index) index_ = std::make_unique<FlowIndex>(*std::move(index));
    listed::Listing listing;
    EXPECT_TRUE(decoder_->Decode(input_, listing));
    std::vector<const ThreadStay*> stays;
    for (const FlowPiece& piece : flows_[0].pieces) stays.push_back(piece.stay);
    places_ = listing.Of(stays);
  }

  FlowIndex& index() { return *index_; }
  const std::vector<listed::Listed>& places() const { return places_; }

 private:
  static GeneratorOptions OptionsOf(uint64_t seed, uint64_t instructions) {
    GeneratorOptions options = MixedOptions(seed);
    options.instructions = instructions;
    return options;
  }

  Subject subject_;
  DividedStream divided_;
  DecodeInput input_;
  std::vector<ThreadFlow> flows_;
  std::unique_ptr<Decoder> decoder_;
  std::unique_ptr<FlowIndex> index_;
  std::vector<listed::Listed> places_;
};

TEST(ThreadWalk, GoesThroughAllPlacesInBothDirections) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    OneThread flow(seed);
    ThreadWalk walk(flow.index(), flow.index().threads()[0]);
    size_t at = 0;
    do {
      ASSERT_LT(at, flow.places().size());
      ASSERT_EQ(walk.pc(), flow.places()[at].address) << at;
      ASSERT_EQ(walk.number(), at);
    } while (walk.Next() && ++at != 0);
    EXPECT_EQ(at + 1, flow.places().size());
    do {
      ASSERT_EQ(walk.pc(), flow.places()[at].address) << at;
    } while (walk.Previous() && at-- != 0);
    EXPECT_EQ(at, 0u);
  }
}

TEST(VisitCount, IsTheListings) {
  OneThread flow(3);
  ReplayedMachine machine(flow.index(), {0});
  Random random(1);
  for (int i = 0; i < 50; ++i) {
    const size_t here = random.Below(flow.places().size());
    const uint64_t address = flow.places()[random.Below(flow.places().size())].address;
    machine.ToInstruction(0, here);
    VisitCount truth;
    for (size_t place = 0; place < flow.places().size(); ++place) {
      if (flow.places()[place].address != address) continue;
      ++truth.all;
      if (place < here) ++truth.before;
    }
    const auto count = machine.CountVisits(0, address, [] { return true; });
    ASSERT_TRUE(count);
    EXPECT_EQ(count->all, truth.all);
    EXPECT_EQ(count->before, truth.before);
  }
}

// Most addresses that never executed are known not to have: then no share is decoded, and the
// search asks whether to go on in the one that it begins in only.
TEST(StopSearch, DecodesNoShareThatTheFiltersExclude) {
  OneThread flow(5, 400'000, 8192);
  ASSERT_GT(flow.index().threads()[0].shares.size(), 4u);
  ReplayedMachine machine(flow.index(), {0});
  int searched = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    machine.ToEnd();
    int asked = 0;
    const KeepOn note = [&asked] { return ++asked != 0; };
    const uint64_t address = 0x123456789 + (i << 12);
    const MachineStop stop =
        machine.Continue(Direction::kBackward, {.addresses = {address}}, std::nullopt, note);
    EXPECT_EQ(static_cast<int>(stop.reason), static_cast<int>(MachineStop::Reason::kBegin));
    searched += asked > 1 ? 1 : 0;
  }
  EXPECT_LT(searched, 30);
}

TEST(StopSearch, EndsWhenItIsTold) {
  OneThread flow(5);
  ReplayedMachine machine(flow.index(), {0});
  machine.ToInstruction(0, 10);
  const uint64_t last = flow.places().back().address;
  const MachineStop stop = machine.Continue(Direction::kForward, {.addresses = {last}},
                                            std::nullopt, [] { return false; });
  ASSERT_EQ(stop.reason, MachineStop::Reason::kInterrupted) << "it lies in the first share";
  EXPECT_EQ(machine.At(0).number, 10u);
}

}  // namespace
}  // namespace flowback::testing
