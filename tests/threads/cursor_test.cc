// SPDX-License-Identifier: MIT
// The cursor against a decoder's flow: forward, backward, and wherever it jumps to.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "flowback/replay/thread_cursor.h"
#include "tests/differential/harness.h"
#include "tests/support/random.h"
#include "tests/threads/cursor_elements.h"
#include "tests/threads/divided_stream.h"

namespace flowback::testing {
namespace {

using namespace cursor_elements;

// Jumps of the cursor and where they must lead.
class Jumps {
 public:
  Jumps(ThreadCursor& cursor, const std::vector<Element>& truth, uint64_t seed)
      : cursor_(cursor), truth_(truth), random_(seed) {
    for (size_t i = 0; i < truth.size(); ++i)
      if (truth[i].kind == Kind::kInstruction) instructions_.push_back(i);
  }

  void Run(int count) {
    if (instructions_.empty()) return;
    for (int i = 0; i < count && !::testing::Test::HasFailure(); ++i) {
      ToInstruction();
      ToTime();
      ToAddress();
      ToNearest();
    }
    cursor_.ToInstruction(instructions_.size());
    EXPECT_EQ(cursor_.kind(), Kind::kEnd);
  }

  void RunToTimes(int count) {
    for (int i = 0; i < count && !::testing::Test::HasFailure(); ++i) ToTime();
  }

 private:
  void ToInstruction() {
    number_ = random_.Below(instructions_.size());
    cursor_.ToInstruction(number_);
    EXPECT_EQ(cursor_.number(), number_);
    ExpectAt(instructions_[number_], "instruction");
  }
  void ToTime() {
    const uint64_t tsc = truth_[random_.Below(truth_.size())].tsc + random_.Below(3) - 1;
    if (tsc + 1 < 2) return;
    size_t to = 0;
    while (to < truth_.size() && truth_[to].tsc < tsc) ++to;
    cursor_.ToTime(tsc);
    ExpectAt(to, "time " + std::to_string(tsc));
  }
  void ToAddress() {
    const size_t from = instructions_[number_];
    const uint64_t address = truth_[instructions_[random_.Below(instructions_.size())]].place;
    const auto is_it = [&](const Element& e) {
      return e.kind == Kind::kInstruction && e.place == address;
    };
    cursor_.ToInstruction(number_);
    const auto next =
        std::find_if(truth_.begin() + static_cast<ptrdiff_t>(from) + 1, truth_.end(), is_it);
    EXPECT_EQ(cursor_.NextAt(address), next != truth_.end());
    ExpectAt(next != truth_.end() ? static_cast<size_t>(next - truth_.begin()) : from, "next at");
    cursor_.ToInstruction(number_);
    size_t before = from;
    while (before != 0 && !is_it(truth_[before - 1])) --before;
    EXPECT_EQ(cursor_.PreviousAt(address), before != 0);
    ExpectAt(before != 0 ? before - 1 : from, "previous at");
  }
  // The next and the previous element of each sort.
  void ToNearest() {
    Expect(
        "run", [](const Element& e) { return e.begins_run; }, &ThreadCursor::NextRun,
        &ThreadCursor::PreviousRun);
    Expect(
        "branch", [](const Element& e) { return e.is_branch; }, &ThreadCursor::NextBranch,
        &ThreadCursor::PreviousBranch);
    Expect(
        "event", [](const Element& e) { return e.kind == Kind::kEvent; },
        [](ThreadCursor& c) { return c.Next(Kind::kEvent); },
        [](ThreadCursor& c) { return c.Previous(Kind::kEvent); });
    Expect(
        "loss", [](const Element& e) { return e.kind == Kind::kLoss; },
        [](ThreadCursor& c) { return c.Next(Kind::kLoss); },
        [](ThreadCursor& c) { return c.Previous(Kind::kLoss); });
    Expect(
        "address that never was", [](const Element&) { return false; },
        [](ThreadCursor& c) { return c.NextAt(0x123456789) || (c.ToEnd(), false); },
        [](ThreadCursor& c) { return c.PreviousAt(0x123456789) || (c.ToBegin(), false); });
  }
  // Where there is none, the cursor stands behind the last element, or at the first one.
  template <class Is, class Next, class Previous>
  void Expect(const std::string& what, Is is, Next next, Previous previous) {
    const size_t from = instructions_[number_];
    const ThreadCursor::Place start = (cursor_.ToInstruction(number_), cursor_.place());
    size_t to = from + 1;
    while (to < truth_.size() && !is(truth_[to])) ++to;
    EXPECT_EQ(std::invoke(next, cursor_), to < truth_.size()) << what;
    ExpectAt(to, "next " + what);
    cursor_.Return(start);
    ExpectAt(from, "back before " + what);
    size_t before = from;
    while (before != 0 && !is(truth_[before - 1])) --before;
    EXPECT_EQ(std::invoke(previous, cursor_), before != 0) << what;
    ExpectAt(before == 0 ? 0 : before - 1, "previous " + what);
  }
  void ExpectAt(size_t element, const std::string& what) {
    const Element expected = element < truth_.size() ? truth_[element] : Element{Kind::kEnd};
    EXPECT_TRUE(At(cursor_) == expected)
        << what << ": element " << element << " of " << truth_.size() << ", kind "
        << static_cast<int>(At(cursor_).kind) << " at " << At(cursor_).place << ", expected "
        << static_cast<int>(expected.kind) << " at " << expected.place;
  }

  ThreadCursor& cursor_;
  const std::vector<Element>& truth_;
  Random random_;
  std::vector<size_t> instructions_;  // elements that are
  uint64_t number_ = 0;
};

class Cursor : public ::testing::TestWithParam<Change> {};

TEST_P(Cursor, GoesWhereTheFlowIs) {
  size_t elements = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    GeneratorOptions options = MixedOptions(seed);
    options.instructions = 20'000;
    const Subject subject(GenerateStream(options));
    const DividedStream divided(subject, GetParam());
    SCOPED_TRACE(Describe(options));
    DecodeInput input = divided.Input(seed % 2 == 0 ? Resync::kEarliest : Resync::kSyncPoint);
    input.times = true;
    std::vector<ThreadFlow> flows;
    for (const FlowPiece& piece : divided.Pieces())
      flows.push_back({.tid = piece.stay->tid, .pieces = {piece}});
    const std::unique_ptr<Decoder> decoder = Native();
    Result<FlowIndex> index = FlowIndex::Build({{&divided.stream(), &input}}, flows, *decoder,
                                               {.times = true, .segment_bytes = 200 * seed});
    ASSERT_TRUE(index) << index.error().message();
    Elements brute;
    ASSERT_TRUE(decoder->Decode(input, brute));
    for (size_t i = 0; i < flows.size(); i += 1 + seed % 7) {
      SCOPED_TRACE("stay " + std::to_string(i));
      const std::vector<Element>& truth = brute.Of(flows[i].pieces[0].stay);
      ThreadCursor cursor(*index, index->threads()[i]);
      ASSERT_EQ(Difference(Forward(cursor), truth), "");
      ASSERT_EQ(Difference(Backward(cursor), truth), "");
      Jumps(cursor, truth, seed).Run(5);
      elements += truth.size();
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(elements, 10'000u);
}

// The index's times may differ from those of the flow by what is estimated.
TEST(CursorOfEstimates, FindsTimesInTheFlow) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    GeneratorOptions options = MixedOptions(seed);
    options.instructions = 20'000;
    const Subject subject(GenerateStream(options));
    const DividedStream divided(subject, Change::kNone);
    DecodeInput input = divided.Input(Resync::kEarliest);
    input.times = true;
    std::vector<ThreadFlow> flows(1);
    for (const FlowPiece& piece : divided.Pieces())
      if (flows[0].pieces.empty() ||
          piece.end - piece.begin > flows[0].pieces[0].end - flows[0].pieces[0].begin)
        flows[0] = {.tid = piece.stay->tid, .pieces = {piece}};
    const std::unique_ptr<Decoder> decoder = Native();
    Result<FlowIndex> index = FlowIndex::Build({{&divided.stream(), &input}}, flows, *decoder,
                                               {.times = true, .segment_bytes = 200});
    ASSERT_TRUE(index);
    Elements brute;
    ASSERT_TRUE(decoder->Decode(input, brute));
    for (const int64_t by : {-2000, -30, 30, 2000}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(by) + " ticks");
      IndexedThread thread = index->threads()[0];
      for (FlowShare& share : thread.shares)
        for (uint64_t* tsc : {&share.first_tsc, &share.last_tsc})
          if (*tsc != 0) *tsc += static_cast<uint64_t>(by);
      ThreadCursor cursor(*index, thread);
      Jumps(cursor, brute.Of(flows[0].pieces[0].stay), seed).RunToTimes(40);
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Changes, Cursor,
                         ::testing::Values(Change::kNone, Change::kCode, Change::kBytes,
                                           Change::kGaps));

}  // namespace
}  // namespace flowback::testing
