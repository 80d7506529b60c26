// SPDX-License-Identifier: MIT
// Branches of many blocks at a time. A batch's blocks are simple: each goes on where the one before
// it led. Where it has no times, no block has cycles or a prediction. Then only its first and its
// last range are counted by OnBlock, as they may have begun before it, or end behind it.
#include <algorithm>
#include <optional>
#include <ranges>

#include "replay/branches/branch_sums.h"

namespace flowback {
namespace {

// The steps from the first that is behind a taken branch to the last whose branch was taken.
struct WholeRanges {
  size_t begin = 0;
  size_t end = 0;
};

// Nothing where there are fewer than two ranges: then it isn't worth the set-up.
std::optional<WholeRanges> FindWholeRanges(std::span<const BlockStep> steps) {
  const auto is_taken = [](BlockStep step) { return step.taken(); };
  if (steps.empty()) return std::nullopt;
  steps = steps.first(steps.size() - 1);  // where the last one led is no step
  const auto first = std::ranges::find_if(steps, is_taken);
  if (first == steps.end()) return std::nullopt;
  const auto last = std::ranges::find_if(steps | std::views::reverse, is_taken).base();
  const WholeRanges whole{static_cast<size_t>(first - steps.begin()) + 1,
                          static_cast<size_t>(last - steps.begin())};
  if (whole.end < whole.begin + 2) return std::nullopt;
  return whole;
}

}  // namespace

void BranchSums::OnBlocks(const BlockBatch& batch) {
  const auto whole = batch.times.empty() ? FindWholeRanges(batch.steps) : std::nullopt;
  if (!whole) return OnEachBlock(batch);
  const BlockTable& table = *batch.table;
  BlockBatch part = batch;
  part.steps = batch.steps.first(whole->begin);
  part.next = table[batch.steps[whole->begin].number()].address;
  OnEachBlock(part);
  CountRanges(table, batch.steps.subspan(whole->begin, whole->end - whole->begin));
  // The last of them again, without its branch's sums: the state behind it.
  part.steps = batch.steps.subspan(whole->end - 1, 1);
  part.next = table[batch.steps[whole->end].number()].address;
  BlockRuns last(part);
  last.Next();
  StandBehind(last.run());
  part.steps = batch.steps.subspan(whole->end);
  part.next = batch.next;
  OnEachBlock(part);
}

void BranchSums::OnEachBlock(const BlockBatch& batch) {
  for (BlockRuns runs(batch); runs.Next();) OnBlock(runs.run());
}

// REQUIRES: the steps begin where a taken branch led; behind them is one more.
void BranchSums::CountRanges(const BlockTable& table, std::span<const BlockStep> steps) {
  RangeTable& ranges = range_tables_[&table];
  const BlockStep* first = steps.data();
  ForEachTaken(steps, [&](size_t i) {
    const BlockStep* const last = &steps[i];
    const RangeBlocks blocks{first->number(), last->number(), last[1].number()};
    if (RangeTable::Counter* const counter = ranges.Find(blocks); counter != nullptr) [[likely]]
      ++counter->times;
    else
      ranges.Add(blocks, OnNewRange(table, {first, last + 1}, last[1]), 1);
    first = last + 1;
  });
}

uint32_t BranchSums::OnNewRange(const BlockTable& table, std::span<const BlockStep> steps,
                                BlockStep next) {
  const uint32_t space = spaces_.Of(&table.space());
  const CodeBlock& last = table[steps.back().number()];
  const uint64_t branch = last.LastAddress();
  RangeSums& sums = range_sums_.emplace_back();
  sums.edge = &EdgeOf({space, branch, table[next.number()].address});
  sums.edge->kind = last.last;
  sums.range = &ranges_[{space, table[steps.front().number()].address, branch}];
  for (const BlockStep step : steps.first(steps.size() - 1)) {
    const CodeBlock& block = table[step.number()];
    if (block.last == InstructionClass::kConditional)
      sums.not_taken.push_back(&not_taken_[{space, block.LastAddress(), 0}]);
  }
  return static_cast<uint32_t>(range_sums_.size() - 1);
}

void BranchSums::OnRange(uint32_t range, uint64_t times) {
  const RangeSums& sums = range_sums_[range];
  sums.edge->sum.times += times;
  *sums.range += times;
  for (NotTaken* const not_taken : sums.not_taken) not_taken->times += times;
}

// Ahead of ranges that were counted, a taken branch was handed on: no range was at hand.
void BranchSums::OnRangesEnd(const BlockTable& table, std::span<const BlockStep> steps,
                             uint64_t next) {
  BlockBatch batch;
  batch.steps = steps;
  batch.table = &table;
  batch.next = next;
  if (steps.back().taken()) {
    BlockRuns last(batch);
    last.Next();
    return StandBehind(last.run());
  }
  place_ = {.kind = FlowPlace::Kind::kAt, .ip = table[steps.front().number()].address};
  line_begins_ = true;
  OnEachBlock(batch);
}

void BranchSums::AddRanges() {
  for (auto& [table, ranges] : range_tables_)
    ranges.Take([this](uint32_t range, uint64_t times) { OnRange(range, times); });
}

}  // namespace flowback
