// SPDX-License-Identifier: MIT
// Lists of blocks, and the buffer that they are copied to.
#include "decode/flow/block_lists.h"

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "decode/flow/step_buffer.h"

namespace flowback::flow {
namespace {

std::vector<BlockStep> Steps(unsigned count, uint32_t first) {
  std::vector<BlockStep> steps;
  for (unsigned i = 0; i < count; ++i) steps.push_back(BlockStep::Of(first + i, i % 2 == 0));
  return steps;
}

std::vector<uint32_t> Values(std::span<const BlockStep> steps) {
  std::vector<uint32_t> values;
  for (const BlockStep step : steps) values.push_back(step.value);
  return values;
}

// As many counts as steps, that follow from the steps' numbers.
StepCount CountOf(BlockStep step) { return StepCount::Of(1 + step.number() % StepCount::kMost); }
BlockLists::Ref Keep(BlockLists& lists, unsigned count, uint32_t first) {
  const std::vector<BlockStep> steps = Steps(count, first);
  std::vector<StepCount> counts;
  for (const BlockStep step : steps) counts.push_back(CountOf(step));
  return lists.Keep(steps, counts.data(), {});
}

std::vector<uint32_t> Copied(const BlockLists& lists, BlockLists::Ref list) {
  std::vector<BlockStep> to(BlockLists::kMost + BlockLists::kSpill);
  std::vector<StepCount> counts(to.size());
  const unsigned size = lists.Copy<8>(list, to.data());
  EXPECT_EQ(lists.CopyCounts<8>(list, counts.data()), size);
  for (unsigned i = 0; i < size; ++i) EXPECT_EQ(counts[i].count(), CountOf(to[i]).count()) << i;
  return Values(std::span(to).first(size));
}

TEST(BlockListsTest, KeepListsOfAnySize) {
  BlockLists lists;
  std::vector<BlockLists::Ref> refs;
  for (unsigned count = 1; count <= BlockLists::kMost; ++count)
    refs.push_back(Keep(lists, count, 1000 * count));
  for (unsigned count = 1; count <= BlockLists::kMost; ++count)
    EXPECT_EQ(Copied(lists, refs[count - 1]), Values(Steps(count, 1000 * count))) << count;
}

TEST(BlockListsTest, GiveTheirPlaceToOthers) {
  BlockLists lists;
  uint64_t kept = 0;
  while (lists.HasRoom(BlockLists::kMost)) {
    Keep(lists, BlockLists::kMost, static_cast<uint32_t>(kept));
    ASSERT_LT(++kept, 1u << 20) << "memory is not bounded";
  }
  const BlockLists::Ref last = [&] {
    BlockLists other;
    return Keep(other, BlockLists::kMost, 1);
  }();
  lists.Free(last);  // the first list there is
  ASSERT_TRUE(lists.HasRoom(BlockLists::kMost));
  const BlockLists::Ref again = Keep(lists, BlockLists::kMost, 7);
  EXPECT_EQ(again, last);
  EXPECT_EQ(Copied(lists, again), Values(Steps(BlockLists::kMost, 7)));
  EXPECT_FALSE(lists.HasRoom(BlockLists::kMost));
}

TEST(StepBufferTest, KeepsWhatIsNotReleased) {
  StepBuffer buffer;
  StepBuffer::Position released = 0;
  for (uint32_t i = 0; i < 50'000; ++i) {
    buffer.Add(BlockStep::Of(i, false), 1 + i % 200);
    // Up to 20 thousand wait, then none, then a few.
    if (i == 20'000) buffer.Release(released = i + 1);
    if (i > 30'000) buffer.Release(released = i - 10);
    if (buffer.end() > buffer.limit()) buffer.MakeRoom();
    ASSERT_LE(buffer.end(), buffer.limit());
    ASSERT_EQ(buffer.position(), i + 1);
    if (released <= i) {
      ASSERT_EQ(buffer.Steps(released, 1).front().number(), released);
      ASSERT_EQ(buffer.Steps(i, 1).front().number(), i);
      ASSERT_EQ(buffer.Counts(released, 1).front().count(), 1 + released % 200);
      ASSERT_EQ(buffer.Counts(i, 1).front().count(), 1 + i % 200);
    }
  }
}

}  // namespace
}  // namespace flowback::flow
