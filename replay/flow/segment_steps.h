// SPDX-License-Identifier: MIT
// Which blocks executed in each segment of a stream, and how they were left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "flowback/model/block_batch.h"
#include "flowback/model/execution.h"

namespace flowback {

// Blocks that the decoder delivered one by one, each different one once, by number.
class ToldRuns {
 public:
  // Returns its number.
  uint32_t Add(const BlockRun& run);
  // Valid as long as this and the decoder. The run has only its code and its exit.
  const BlockRun& operator[](uint32_t number) const { return runs_[number].run; }
  size_t size() const { return runs_.size(); }

 private:
  struct Kept {
    BlockRun run;
    std::unique_ptr<std::vector<uint8_t>> lengths;
  };
  using Key = std::tuple<const AddressSpace*, uint64_t, size_t, InstructionClass, BlockExit>;

  std::vector<Kept> runs_;
  std::map<Key, uint32_t> numbers_;
};

// What executed in a segment. It may name more than that.
struct SegmentSteps {
  struct PerTable {
    const BlockTable* table = nullptr;
    std::vector<uint64_t> ways;  // kWaysOfWord blocks in each: step_way bits, added up

    uint8_t Of(uint32_t block) const {
      const size_t word = block / kWaysOfWord;
      return word < ways.size() ? ways[word] >> (4 * (block % kWaysOfWord)) & 0xf : 0;
    }
  };
  static constexpr uint32_t kWaysOfWord = 16;

  bool known = false;      // false: not requested, or no room was left
  bool addresses = false;  // it has EventKind::kLockAddress
  std::vector<PerTable> tables;
  std::vector<uint32_t> runs;  // in ToldRuns; in order
};

// Notes the steps of one segment after the other.
class StepMarks {
 public:
  // The limit for all segments; later ones are unknown.
  static constexpr size_t kMostWords = size_t{16} << 20;

  explicit StepMarks(size_t most_words = kMostWords) : room_(most_words) {}

  void Add(const BlockBatch& batch) {
    uint8_t* const ways = Of(*batch.table);
    for (const BlockStep step : batch.steps) ways[step.number()] |= WayOf(step.taken());
  }
  void Add(const BlockTable& table, uint32_t block, uint8_t ways) { Of(table)[block] |= ways; }
  void Add(const BlockRun& run) { run_numbers_.push_back(runs_.Add(run)); }
  void Add(const TraceEvent& event) {
    addresses_ = addresses_ || event.kind == EventKind::kLockAddress;
  }
  // Returns the steps added since the last call.
  SegmentSteps Take();
  ToldRuns TakeRuns() { return std::move(runs_); }

 private:
  // By block of the table.
  uint8_t* Of(const BlockTable& table) {
    if (&table != table_ || marks_->size() < table.size()) {
      table_ = &table;
      marks_ = &tables_[&table];
      if (marks_->size() < table.size()) marks_->resize(2 * table.size());
    }
    return marks_->data();
  }

  std::map<const BlockTable*, std::vector<uint8_t>> tables_;
  const BlockTable* table_ = nullptr;  // the last one
  std::vector<uint8_t>* marks_ = nullptr;
  ToldRuns runs_;
  std::vector<uint32_t> run_numbers_;
  bool addresses_ = false;
  size_t room_;  // words that may be kept yet
};

class FlowIndex;
struct FlowShare;

// Gives out what the pass that made an index has noted.
class IndexSteps {
 public:
  // Returns the steps of the share's segment; `known` is false where FlowIndex::Options::steps was.
  static const SegmentSteps& Of(const FlowIndex& index, const FlowShare& share);
  static const ToldRuns& Runs(const FlowIndex& index);
  // Returns how many segments were not read in full for the index.
  static size_t GoneOver(const FlowIndex& index);
};

}  // namespace flowback
