// SPDX-License-Identifier: MIT
#include "replay/flow/executed_blocks.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace flowback {
namespace {

void KeepHottest(std::vector<ExecutedBlocks::Entry>& entries, size_t most) {
  const size_t kept = std::min(most, entries.size());
  std::ranges::partial_sort(entries, entries.begin() + static_cast<ptrdiff_t>(kept),
                            [](const auto& a, const auto& b) {
                              return std::tuple(b.instructions, a.address, a.number) <
                                     std::tuple(a.instructions, b.address, b.number);
                            });
  entries.resize(kept);
}

void AddLines(uint64_t first, uint64_t last, LineSet& lines) {
  for (Line line = LineOf(first); line <= LineOf(last); ++line) lines.Add(line);
}

}  // namespace

// Most decoders have few of them, some only such.
void ExecutedBlocks::Add(const BlockRun& run) {
  if (run.lengths.empty()) return;
  AddLines(run.address, run.LastAddress(), lines_);
  if (!counts_ || run.space == nullptr) return;
  if (next_ == 0) runs_[{spaces_.Of(run.space), run.address}] += sample_ * run.lengths.size();
  next_ = (next_ == 0 ? sample_ : next_) - 1;
}

// The table may have grown since it was used last.
void ExecutedBlocks::UseTable(const BlockTable& table) {
  last_ = &tables_[&table];
  last_->table = &table;
  last_->space = spaces_.Of(&table.space());
  last_->executed.resize(table.size());
  last_->counts.resize(table.size());
  if (!last_->in_use) used_.push_back(last_);
  last_->in_use = true;
}

const std::vector<Line>& ExecutedBlocks::Lines() {
  for (PerTable* const of : used_)
    for (uint32_t number = 0; number < of->executed.size(); ++number) {
      if (of->executed[number] == 0) continue;
      of->executed[number] = 0;
      const CodeBlock& block = (*of->table)[number];
      if (block.count != 0) AddLines(block.address, block.LastAddress(), lines_);
    }
  return lines_.lines();
}

std::vector<ExecutedBlocks::Entry> ExecutedBlocks::EndStretch(size_t most) {
  std::vector<Entry> entries;
  for (PerTable* const of : used_) {
    of->totals.resize(of->counts.size());
    for (const uint32_t number : of->counted) {
      const CodeBlock& block = (*of->table)[number];
      const uint64_t count = of->counts[number];
      entries.push_back({of->space, &of->table->space(), block.address, count});
      of->totals[number] += count;
      of->counts[number] = 0;
    }
    of->counted.clear();
    of->in_use = false;
  }
  used_.clear();
  for (const auto& [place, count] : std::exchange(runs_, {})) {
    entries.push_back({place.first, spaces_.At(place.first), place.second, count});
    run_totals_[place] += count;
  }
  lines_.Clear();
  KeepHottest(entries, most);
  return entries;
}

std::vector<ExecutedBlocks::Entry> ExecutedBlocks::All() const {
  std::vector<Entry> entries;
  for (const auto& [table, of] : tables_)
    for (uint32_t number = 0; number < of.totals.size(); ++number)
      if (of.totals[number] != 0)
        entries.push_back({of.space, &table->space(), (*table)[number].address, of.totals[number]});
  for (const auto& [place, count] : run_totals_)
    entries.push_back({place.first, spaces_.At(place.first), place.second, count});
  KeepHottest(entries, entries.size());
  return entries;
}

}  // namespace flowback
