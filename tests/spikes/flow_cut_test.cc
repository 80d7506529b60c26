// SPDX-License-Identifier: MIT
// A part of a thread's flow has exactly its instructions, wherever it begins and ends.
#include "replay/profile/flow_cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace flowback {
namespace {

// Writes down what comes: addresses of instructions, and one letter for each other thing.
class Notes final : public PlayConsumer {
 public:
  void OnThreadBegin(const ThreadFlow&, size_t) override { order += '('; }
  void OnThreadEnd(const ThreadFlow&, size_t) override { order += ')'; }
  void OnBlock(const BlockRun& run) override {
    uint64_t ip = run.address;
    for (const uint8_t length : run.lengths) {
      instructions.push_back(ip);
      ip += length;
    }
    taken += run.exit == BlockExit::kTaken ? 1 : 0;
    if (run.exit == BlockExit::kFallThrough) {
      EXPECT_EQ(run.next, ip);
    }
    order += 'b';
  }
  void OnEvent(const TraceEvent& event) override {
    order += 'e';
    if (event.kind == EventKind::kStarted) started = event.ip;
  }
  void OnLoss(const DataLoss&) override { order += 'l'; }

  std::vector<uint64_t> instructions;
  std::string order;
  uint64_t started = 0;
  int taken = 0;
};

// Eight runs of five instructions, each of which jumps to the next one. An event and a loss lie in
// the middle of the flow.
void Play(PlayConsumer& consumer) {
  const uint8_t lengths[] = {1, 2, 3, 4, 5};
  const ThreadFlow thread;
  consumer.OnThreadBegin(thread, 0);
  for (uint64_t number = 0; number < 8 && !consumer.Done(); ++number) {
    BlockRun run;
    run.address = 0x1000 * (number + 1);
    run.lengths = lengths;
    run.next = run.address + 0x1000;
    run.exit = BlockExit::kTaken;
    run.tsc = 100 * (number + 1);
    consumer.OnBlock(run);
    if (number != 3 || consumer.Done()) continue;
    TraceEvent event;
    event.kind = EventKind::kPtwrite;
    consumer.OnEvent(event);
    consumer.OnLoss({});
  }
  if (!consumer.Done()) consumer.OnThreadEnd(thread, 0);
}

TEST(FlowCut, HasItsInstructionsAndNoOther) {
  Notes all;
  Play(all);
  ASSERT_EQ(all.instructions.size(), 40U);
  const ThreadFlow thread;
  for (size_t first = 0; first < 40; ++first)
    for (size_t count = 1; first + count <= 40; ++count) {
      Notes part;
      FlowCut cut(part, {.thread = &thread, .first = first, .instructions = count}, nullptr);
      Play(cut);
      const auto begin = all.instructions.begin() + static_cast<ptrdiff_t>(first);
      EXPECT_EQ(part.instructions, std::vector(begin, begin + static_cast<ptrdiff_t>(count)));
      EXPECT_EQ(part.started, *begin);
      // A branch belongs to the part if the jump itself does.
      EXPECT_EQ(part.taken, static_cast<int>((first + count) / 5 - first / 5));
      EXPECT_TRUE(part.order.starts_with("(e") && part.order.ends_with(')')) << part.order;
      EXPECT_EQ(std::ranges::count(part.order, ')'), 1);
    }
}

TEST(FlowCut, HasWhatHappensWithin) {
  const ThreadFlow thread;
  for (const auto& [first, count, losses] :
       {std::tuple(0U, 40U, 1), std::tuple(0U, 20U, 0), std::tuple(20U, 5U, 0),
        std::tuple(19U, 2U, 1), std::tuple(0U, 21U, 1)}) {
    Notes part;
    LossTally tally;
    FlowCut cut(part, {.thread = &thread, .first = first, .instructions = count}, &tally);
    Play(cut);
    EXPECT_EQ(std::ranges::count(part.order, 'l'), losses) << first << " " << count;
    EXPECT_EQ(std::ranges::count(part.order, 'e'), 1 + losses);
  }
}

TEST(FlowCut, EndsWithTheFlow) {
  const ThreadFlow thread;
  Notes part;
  FlowCut cut(part, {.thread = &thread, .first = 38, .instructions = 100}, nullptr);
  Play(cut);
  EXPECT_EQ(part.instructions.size(), 2U);
  EXPECT_EQ(part.order, "(eb)");
}

}  // namespace
}  // namespace flowback
