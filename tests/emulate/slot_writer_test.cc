// SPDX-License-Identifier: MIT
#include "capture/emulate/slot_writer.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/emulate/test_area.h"

namespace flowback::emulate {
namespace {

using record::SlotState;

TEST(PendingWord, HoldsUpToAPacketsOutcomes) {
  for (unsigned count = 0; count <= 47; ++count) {
    const uint64_t all = (uint64_t{1} << count) - 1;
    for (const uint64_t bits : {uint64_t{0}, all, all & 0x5555555555555555}) {
      const record::PendingWord word = PendingWordOf({bits, count}, 0xabcde);
      EXPECT_EQ(PendingOf(word).bits, bits);
      EXPECT_EQ(PendingOf(word).count, count);
      EXPECT_EQ(word & record::kPendingTag, 0xbcdeu);
      EXPECT_EQ(static_cast<int64_t>(word) < 0, count == 47);  // full
    }
  }
  EXPECT_EQ(PendingOf(0).count, 0u);
}

TEST(SlotWriter, TakesFreeSlotsInTurn) {
  TestArea area;
  SlotWriter first = SlotWriter::Take(area.area(), 1, 2);
  const SlotWriter second = SlotWriter::Take(area.area(), 1, 3);
  EXPECT_TRUE(first.open() && second.open());
  EXPECT_EQ(area.slot().tid, 2);
  EXPECT_EQ(area.area().slots[1].tid, 3);
  EXPECT_EQ(area.slot().state, SlotState::kLive);
  first.End();
  EXPECT_FALSE(first.open());
  EXPECT_EQ(area.slot().state, SlotState::kEnded);
  first.End();
}

TEST(SlotWriter, NoneIsLeft) {
  TestArea area;
  for (auto& slot : area.area().slots) slot.state = SlotState::kLive;
  EXPECT_FALSE(SlotWriter::Take(area.area(), 1, 2).open());
  EXPECT_EQ(area.area().threads_left_out, 1u);
}

TEST(SlotWriter, NoneIsWanted) {
  TestArea area;
  area.area().recording = record::Recording::kStops;
  EXPECT_FALSE(SlotWriter::Take(area.area(), 1, 2).open());
  EXPECT_EQ(area.area().threads_left_out, 0u);
}

TEST(SlotWriter, TraceGoesRoundTheRing) {
  TestArea area;
  SlotWriter writer = SlotWriter::Take(area.area(), 1, 2);
  const std::vector<uint8_t> packets(1000, 7);
  for (uint64_t i = 1; i < 2000; ++i) {
    writer.SetFlow({.count = i, .hash = 2 * i}, {.bits = 1, .count = 2}, packets, 0x1000);
    ASSERT_EQ(area.TakeTrace(), packets);
    const record::ThreadProgress& flow = area.slot().LastFlow(area.slot().trace);
    ASSERT_EQ(flow.count, i);
    ASSERT_EQ(flow.hash, 2 * i);
    ASSERT_EQ(PendingOf(flow.pending).count, 2u);
  }
}

// Whatever was written when the thread was killed: the state of the trace up to the head.
TEST(SlotWriter, KilledBetweenTwoWrites) {
  TestArea area;
  record::Slot& slot = area.slot();
  SlotWriter writer = SlotWriter::Take(area.area(), 1, 2);
  const std::vector<uint8_t> packets(10, 7);
  writer.SetFlow({.count = 5, .hash = 50}, {}, packets, 0x1000);
  const uint32_t before = slot.current;
  const uint64_t head = slot.trace.head;
  // The next state, half done and whole, the head not moved.
  record::ThreadProgress& next = slot.FlowAt(before ^ record::Slot::kOther);
  next.count = 9;
  EXPECT_EQ(slot.LastFlow(slot.trace).count, 5u);
  next.hash = 90;
  next.pending = PendingWordOf({}, head + 10);
  EXPECT_EQ(slot.LastFlow(slot.trace).count, 5u);
  // The head moved, the state not yet declared current.
  slot.trace.head = head + 10;
  EXPECT_EQ(slot.LastFlow(slot.trace).count, 9u);
  slot.current = before ^ record::Slot::kOther;
  EXPECT_EQ(slot.LastFlow(slot.trace).count, 9u);
}

TEST(SlotWriter, ClosesWhenTheRingIsFullAndTheRecorderGone) {
  TestArea area;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  area.area().recorder_pid = child;
  SlotWriter writer = SlotWriter::Take(area.area(), 1, 2);
  const std::vector<uint8_t> packets(record::kTraceRingBytes / 2, 7);
  writer.SetFlow({.count = 1, .hash = 1}, {}, packets, 0x1000);
  writer.SetFlow({.count = 2, .hash = 2}, {}, packets, 0x1000);
  EXPECT_TRUE(writer.open());
  writer.SetFlow({.count = 3, .hash = 3}, {}, packets, 0x1000);
  EXPECT_FALSE(writer.open());
  EXPECT_EQ(area.slot().LastFlow(area.slot().trace).count, 2u);  // what was published is all there
  EXPECT_EQ(area.TakeTrace().size(), record::kTraceRingBytes);
}

TEST(SlotWriter, AttentionIsCalledWhileOpen) {
  TestArea area;
  SlotWriter writer = SlotWriter::Take(area.area(), 1, 2);
  EXPECT_TRUE(writer.CallAttention(record::kAttentionCode));
  EXPECT_TRUE(writer.CallAttention(record::kAttentionEnd));
  EXPECT_EQ(writer.attention(), record::kAttentionCode | record::kAttentionEnd);
  writer.Ignore(record::kAttentionCode);
  EXPECT_EQ(writer.attention(), record::kAttentionEnd);
  writer.End();
  EXPECT_FALSE(writer.CallAttention(record::kAttentionEnd));
}

}  // namespace
}  // namespace flowback::emulate
