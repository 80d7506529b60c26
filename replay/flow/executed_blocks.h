// SPDX-License-Identifier: MIT
// What executed in a stretch of flow, and in all of it, by block: for filters and profiles.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "flowback/model/block_batch.h"
#include "flowback/model/execution.h"
#include "replay/flow/line_filter.h"

namespace flowback {

class ExecutedBlocks {
 public:
  struct Entry {
    const AddressSpace* space = nullptr;
    uint64_t address = 0;       // of the block
    uint64_t instructions = 0;  // that executed in it
  };

  void Add(const BlockBatch& batch) {
    PerTable& of = Of(*batch.table);
    uint32_t* const counts = of.counts.data();
    for (const BlockStep step : batch.steps)
      if (counts[step.number()]++ == 0) of.touched.push_back(step.number());
  }
  void Add(const BlockRun& run);

  // The lines of code that the stretch at hand has so far.
  const std::vector<Line>& Lines();
  // Ends the stretch: of its blocks the `most` with the most instructions, in this order.
  std::vector<Entry> EndStretch(size_t most);
  // All blocks of all stretches that have ended, in the same order.
  std::vector<Entry> All() const;

 private:
  struct PerTable {
    const BlockTable* table = nullptr;
    std::vector<uint32_t> counts;   // by block, in the stretch
    std::vector<uint32_t> touched;  // blocks whose count is not 0
    size_t in_lines = 0;            // so many of them are in lines_
    std::vector<uint64_t> totals;   // by block, in the stretches before
  };

  // The table may have grown since the last time.
  PerTable& Of(const BlockTable& table) {
    if (last_ == nullptr || last_->table != &table) last_ = &tables_[&table];
    last_->table = &table;
    if (last_->counts.size() < table.size()) last_->counts.resize(table.size());
    return *last_;
  }

  std::unordered_map<const BlockTable*, PerTable> tables_;
  PerTable* last_ = nullptr;
  LineSet lines_;
};

}  // namespace flowback
