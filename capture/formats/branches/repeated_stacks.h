// SPDX-License-Identifier: MIT
// Stacks that a recording has once, with the number of samples that had each.
//
//   the text   3  A B C        the stream   |A B C|A B C|A B C|D E|
//              1  D E
//
// The records of the stream are made as they are read: a count may be large.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/recorded/branch_records.h"

namespace flowback::perf {

class RepeatedStacks {
 public:
  // The most records of all repetitions together: the stream has addresses for all of them.
  static constexpr uint64_t kMostRecords = uint64_t{1} << 27;

  // Adds a stack's records, the oldest first, `times` times. REQUIRES: there is one; the records of
  // all repetitions together are at most kMostRecords.
  void Add(std::span<const BranchRecord> stack, uint64_t times);
  // Returns the size of the stream in bytes.
  size_t size() const { return records_ * kBranchRecordSize; }
  // Makes the stream's bytes from `offset` on, as many as there are and fit; returns how many. Any
  // thread may call it.
  size_t Make(size_t offset, std::span<uint8_t> to) const;

 private:
  struct Run {
    uint64_t begin = 0;  // its first record in the stream
    size_t first = 0;    // its first record in kept_
    size_t count = 0;    // records of one repetition
  };

  const BranchRecord& At(const Run& run, uint64_t record) const {
    return kept_[run.first + (record - run.begin) % run.count];
  }

  std::vector<BranchRecord> kept_;
  std::vector<Run> runs_;
  uint64_t records_ = 0;
};

}  // namespace flowback::perf
