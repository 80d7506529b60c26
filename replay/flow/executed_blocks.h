// SPDX-License-Identifier: MIT
// What executed in a stretch of flow, and in all of it, by block: for filters and profiles.
//
// This is asked of each of some thousand million blocks, so a block costs no more than a store: it
// is marked as executed, and only one of several is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flowback/model/block_batch.h"
#include "flowback/model/execution.h"
#include "replay/flow/line_filter.h"
#include "replay/flow/space_numbers.h"

namespace flowback {

class ExecutedBlocks {
 public:
  struct Entry {
    uint32_t number = 0;  // of the address space: blocks of equal counts are ordered by it
    const AddressSpace* space = nullptr;
    uint64_t address = 0;       // of the block
    uint64_t instructions = 0;  // that executed in it, about
  };

  // One block in `sample` is counted.
  explicit ExecutedBlocks(size_t sample) : sample_(sample) {}

  void Add(const BlockBatch& batch) {
    PerTable& of = Of(*batch.table);
    uint8_t* const executed = of.executed.data();
    for (const BlockStep step : batch.steps) executed[step.number()] = 1;
    if (!counts_) return;
    for (; next_ < batch.steps.size(); next_ += sample_) {
      const uint32_t block = batch.steps[next_].number();
      Count(of, block, sample_ * (*batch.table)[block].count);
    }
    next_ -= batch.steps.size();
  }
  void Add(const BlockRun& run);
  // Adds `instructions` instructions that executed in a block.
  void Add(const BlockTable& table, uint32_t block, uint64_t instructions) {
    PerTable& of = Of(table);
    of.executed[block] = 1;
    Count(of, block, instructions);
  }

  // Whether batches that come are counted; if not, they are marked only.
  void set_counts(bool counts) { counts_ = counts; }

  // The lines of code that the stretch at hand has so far.
  const std::vector<Line>& Lines();
  // Ends the stretch: of its blocks the `most` with the most instructions, in this order.
  // REQUIRES: Lines() was called since the last Add.
  std::vector<Entry> EndStretch(size_t most);
  // All counted blocks of all stretches that have ended, in the same order.
  std::vector<Entry> All() const;

 private:
  using Place = std::pair<uint32_t, uint64_t>;  // number of the address space, address

  struct PerTable {
    const BlockTable* table = nullptr;
    uint32_t space = 0;             // its number
    std::vector<uint8_t> executed;  // by block, since Lines()
    std::vector<uint64_t> counts;   // by block: instructions counted in the stretch
    std::vector<uint32_t> counted;  // blocks whose count is not 0
    std::vector<uint64_t> totals;   // by block, of the stretches before
    bool in_use = false;            // it is among used_
  };

  PerTable& Of(const BlockTable& table) {
    if (last_ == nullptr || last_->table != &table || last_->executed.size() < table.size() ||
        !last_->in_use)
      UseTable(table);
    return *last_;
  }
  void UseTable(const BlockTable& table);
  static void Count(PerTable& of, uint32_t number, uint64_t instructions) {
    uint64_t& count = of.counts[number];
    if (count == 0 && instructions != 0) of.counted.push_back(number);
    count += instructions;
  }

  const size_t sample_;
  SpaceNumbers spaces_;
  std::unordered_map<const BlockTable*, PerTable> tables_;
  PerTable* last_ = nullptr;
  std::vector<PerTable*> used_;  // in the stretch
  // Runs without a batch, by where they begin: in the stretch, and in those before.
  std::map<Place, uint64_t> runs_;
  std::map<Place, uint64_t> run_totals_;
  LineSet lines_;
  size_t next_ = 0;  // step of the batch that comes, which is counted; runs are a step each
  bool counts_ = true;
};

}  // namespace flowback
