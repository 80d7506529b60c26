// SPDX-License-Identifier: MIT
#include "decode/pt/code_view.h"

#include <gtest/gtest.h>

#include "tests/pt/test_code.h"

namespace flowback::pt {
namespace {

AddressSpaceHistory TwoEpochs(AddressSpaceHistory::Key key) {
  AddressSpaceHistory history;
  history.key = key;
  history.epochs.push_back({0, 0, Space({At(0x1000, {0xc3})})});
  history.epochs.push_back({500, 70, Space({At(0x1000, {0x90}), At(0x2000, {0xc3})})});
  return history;
}

TEST(CodeView, GoesForwardByTime) {
  const AddressSpaceHistory history = TwoEpochs(AddressSpaceHistory::Key::kTime);
  GraphCache graphs;
  CodeView view(history, graphs);
  EXPECT_FALSE(view.Advance(499, 1000));
  EXPECT_TRUE(view.Advance(500, 0));
  EXPECT_FALSE(view.Advance(100, 0)) << "never backwards";
  EXPECT_EQ(&view.Graph(ExecMode::k64Bit).space(), history.epochs[1].space.get());
}

TEST(CodeView, GoesForwardByInstructions) {
  const AddressSpaceHistory history = TwoEpochs(AddressSpaceHistory::Key::kInstructions);
  GraphCache graphs;
  CodeView view(history, graphs);
  EXPECT_FALSE(view.Advance(1000, 69));
  EXPECT_TRUE(view.Advance(0, 70));
}

TEST(CodeView, AMapThatTheClockHasNotReachedIsTakenWhenNothingElseIsThere) {
  const AddressSpaceHistory history = TwoEpochs(AddressSpaceHistory::Key::kTime);
  GraphCache graphs;
  CodeView view(history, graphs);
  EXPECT_FALSE(view.AdvanceFor(0x3000));
  EXPECT_TRUE(view.AdvanceFor(0x2000));
}

TEST(CodeView, CodeThatIsKnownToBeMissingIsNotTakenFromALaterMap) {
  AddressSpaceHistory history = TwoEpochs(AddressSpaceHistory::Key::kTime);
  auto first = std::make_shared<AddressSpace>();
  first->Explain(0x2000, 0x100, Section({}));
  history.epochs[0].space = std::move(first);
  GraphCache graphs;
  CodeView view(history, graphs);
  EXPECT_FALSE(view.AdvanceFor(0x2000));
  EXPECT_TRUE(view.AdvanceFor(0x1000));
}

TEST(GraphCache, OneGraphForAnAddressSpaceAndMode) {
  const AddressSpaceHistory history = TwoEpochs(AddressSpaceHistory::Key::kTime);
  GraphCache graphs;
  BlockGraph& first = graphs.Get(history.epochs[0].space, ExecMode::k64Bit);
  EXPECT_EQ(&graphs.Get(history.epochs[0].space, ExecMode::k64Bit), &first);
  EXPECT_NE(&graphs.Get(history.epochs[0].space, ExecMode::k32Bit), &first);
  EXPECT_NE(&graphs.Get(history.epochs[1].space, ExecMode::k64Bit), &first);
}

// A recording of a thousand processes must not need a thousand big tables.
TEST(GraphCache, KeepsTheMemosThatWereUsedLast) {
  GraphCache cache;
  const auto space = [](unsigned process) {
    return Space({At(0x401000 + 0x1000 * uint64_t{process}, {0x75, 0xfe, 0xc3})});
  };
  std::vector<std::shared_ptr<const AddressSpace>> spaces;
  for (unsigned process = 0; process < 12; ++process) spaces.push_back(space(process));
  const auto graph = [&](unsigned process) -> BlockGraph& {
    return cache.Get(spaces[process], ExecMode::k64Bit);
  };
  const auto taken = PathMemo::Packets::Tnt(0b110);
  const auto knows = [&] {
    const PathMemo::Seed seed = PathMemo::SeedOf(graph(0).NodeAt(0x401000));
    const PathMemo::Path& path = cache.Memo(graph(0), true).At(PathMemo::Mix(seed, taken));
    return PathMemo::IsPath(PathMemo::LengthOf(path, taken, PathMemo::Key(seed)));
  };
  ReturnStack stack;
  ExitCounts evicted;
  const PathMemo::Seed seed = PathMemo::SeedOf(graph(0).NodeAt(0x401000));
  ASSERT_NE(cache.Memo(graph(0), true).Learn(seed, taken, stack, evicted), nullptr);
  EXPECT_TRUE(knows());
  EXPECT_NE(&cache.Memo(graph(0), false), &cache.Memo(graph(0), true));
  for (unsigned process = 1; process < 4; ++process) cache.Memo(graph(process), true);
  EXPECT_TRUE(knows());
  for (unsigned process = 1; process < 12; ++process) cache.Memo(graph(process), true);
  EXPECT_FALSE(knows());
}

}  // namespace
}  // namespace flowback::pt
