// SPDX-License-Identifier: MIT
#include "decode/flow/code_view.h"

#include <gtest/gtest.h>

#include "decode/flow/program_change.h"
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

TEST(CodeView, AProgramIsEnteredOnlyWhereItMayHaveBegun) {
  AddressSpaceHistory history = TwoEpochs(AddressSpaceHistory::Key::kTime);
  history.epochs.push_back({900, 90, Space({At(0x1000, {0xc3})})});
  history.epochs[2].program = true;
  GraphCache graphs;
  CodeView view(history, graphs);
  EXPECT_EQ(view.NextProgram(), 900u);
  EXPECT_TRUE(view.Advance(1000, 0, false)) << "up to it";
  EXPECT_FALSE(view.Advance(1000, 0, false));
  EXPECT_EQ(view.NextProgram(), 900u);
  EXPECT_TRUE(view.Advance(1000, 0, true));
  EXPECT_EQ(view.NextProgram(), std::nullopt);
  view.Return({&history, 0});
  EXPECT_EQ(view.NextProgram(), 900u);
}

TEST(ProgramChange, NeedsASystemCallThatDoesNotReturn) {
  ProgramChange change;
  EXPECT_TRUE(change.possible()) << "nothing is known yet";
  change.Forget();
  change.Stop(0x1002);
  change.Start(0x1002);
  EXPECT_FALSE(change.possible()) << "the same program goes on";
  change.Stop(0x1002);
  change.Start(0x5000);
  EXPECT_TRUE(change.possible());
  change.Stop(0x5002);
  change.Start(0x5002);
  EXPECT_TRUE(change.possible()) << "the clock may lag behind";
  change.Forget();
  change.Stop(std::nullopt);
  change.Start(0x1000);
  EXPECT_TRUE(change.possible()) << "nobody knows where the program would go on";
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
