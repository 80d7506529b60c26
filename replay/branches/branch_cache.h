// SPDX-License-Identifier: MIT
// Where the sums of branches and lines lie that ran before, by the numbers of their blocks: most of
// a flow runs again and again, and is then counted without a search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/mix_bits.h"
#include "flowback/model/block_batch.h"

namespace flowback {

// The counted items must not move.
template <class Edge, class NotTaken>
class BranchCache {
 public:
  struct Taken {
    uint32_t next = 0;     // the number of the block that it led to
    Edge* edge = nullptr;  // null: it was not taken yet
  };
  struct Line {
    const BlockTable* table = nullptr;
    uint64_t blocks = 0;  // the numbers of its first and its last block
    uint64_t* times = nullptr;

    bool Is(const BlockTable& of, uint64_t numbers) const {
      return table == &of && blocks == numbers;
    }
  };
  struct PerTable {
    std::vector<Taken> taken;          // by block: the last way that it was left
    std::vector<NotTaken*> not_taken;  // by block; null: it was always taken
  };
  // Where a line of these blocks is, if it is one of those that ran last.
  Line& LineOf(uint64_t blocks) { return lines_[MixBits(blocks) % kLines]; }

  // Valid until the next call.
  PerTable& Of(const BlockTable& table) {
    if (table_ != &table) {
      table_ = &table;
      of_table_ = &tables_[&table];
    }
    if (of_table_->taken.size() < table.size()) {
      of_table_->taken.resize(2 * table.size());
      of_table_->not_taken.resize(2 * table.size());
    }
    return *of_table_;
  }

 private:
  static constexpr size_t kLines = size_t{1} << 14;

  std::vector<Line> lines_ = std::vector<Line>(kLines);  // of all tables
  std::unordered_map<const BlockTable*, PerTable> tables_;
  const BlockTable* table_ = nullptr;  // the last one asked for
  PerTable* of_table_ = nullptr;
};

}  // namespace flowback
