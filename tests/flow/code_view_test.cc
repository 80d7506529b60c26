// SPDX-License-Identifier: MIT
#include "decode/flow/code_view.h"

#include <gtest/gtest.h>

#include "tests/flow/test_code.h"

namespace flowback::flow {
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
  EXPECT_EQ(&view.Graph(CodeMode::kX86_64).space(), history.epochs[1].space.get());
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
  BlockGraph& first = graphs.Get(history.epochs[0].space, CodeMode::kX86_64);
  EXPECT_EQ(&graphs.Get(history.epochs[0].space, CodeMode::kX86_64), &first);
  EXPECT_NE(&graphs.Get(history.epochs[0].space, CodeMode::kX86_32), &first);
  EXPECT_NE(&graphs.Get(history.epochs[1].space, CodeMode::kX86_64), &first);
}

}  // namespace
}  // namespace flowback::flow
