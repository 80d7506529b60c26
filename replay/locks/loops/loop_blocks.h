// SPDX-License-Identifier: MIT
// The facts of a block that matter to the search for loops that wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "flowback/model/block_batch.h"
#include "flowback/model/execution.h"
#include "replay/locks/loops/trip.h"

namespace flowback {

// Instructions that follow one another in memory and execute together.
struct LoopBlock {
  // Members used at each execution lie together.
  uint64_t address = 0;
  uint64_t end = 0;     // the address after the last instruction
  uint64_t branch = 0;  // the last instruction, if it is a direct jump backwards; else 0
  uint64_t target = 0;  // of `branch`
  InstructionClass last = InstructionClass::kOther;  // class of the last instruction
  bool stores = false;                               // no trip with it waits
  // Whether it belongs to the dynamic linker, which looks a function up at its first call, in
  // between other work.
  bool is_linker = false;
  bool is_vdso = false;  // it reads the kernel's clock, which the kernel may set meanwhile
  bool atomic = false;
  // It is a loop of its own, whose one way round is neither a wait nor looks like one.
  bool goes_by_itself = false;
  // The number of trips of the loops that `branch` closes that were work; kWaits: one waited.
  // kManyWork after the first one where the code shows that the others are work, too.
  uint32_t work = 0;
  // IsProvenWork's result; empty: it was not asked.
  std::optional<bool> work_by_code;
  const AddressSpace* space = nullptr;
  CodeMode mode{};
  Bytes code;  // empty: it is not known
  std::vector<uint8_t> lengths;

  static constexpr uint32_t kManyWork = 256;
  static constexpr uint32_t kWaits = UINT32_MAX;
  // Its loops are not looked at any more: only work was seen, and often.
  bool is_work() const { return work >= kManyWork && work != kWaits; }

  // Whether an execution of it, while no thread waits, ends no trip that is worth a look and has no
  // effect that a store after it does not undo.
  bool IsQuiet() const {
    if (is_linker) return true;
    if (atomic || last == InstructionClass::kFarCall) return false;
    return branch == 0 || stores || is_work() || goes_by_itself;
  }
  // Whether no trip of a loop goes on over an execution of it, and none begins with it. Once it is
  // so, it stays so. The linker's blocks are ignored.
  bool EndsTrips(bool taken) const {
    if (is_linker) return false;
    if (taken && is_work()) return true;
    return stores && (branch == 0 || !taken);
  }
  // Returns how many of its instructions lie before `ip`. Empty: none begins there.
  std::optional<size_t> InstructionAt(uint64_t ip) const;
};

class LoopBlocks {
 public:
  // By number, of a table that lives as long as this.
  LoopBlock& Of(const BlockTable& table, uint32_t number) {
    if (&table != table_) {
      table_ = &table;
      known_ = &tables_[&table];
    }
    if (number >= known_->size()) known_->resize(table.size());
    LoopBlock*& block = (*known_)[number];
    if (block == nullptr) block = &Make(table, number);
    return *block;
  }
  LoopBlock& Of(const BlockRun& run);
  // By BlockStep::value, for each block that the table has now: its instructions where it is known
  // that it IsQuiet, else BlockRuns::kNoCount. Valid until the next call.
  std::vector<int32_t>& Quiet(const BlockTable& table) {
    std::vector<int32_t>& counts = quiet_[&table];
    if (counts.size() < 2 * table.size()) counts.resize(2 * table.size(), BlockRuns::kNoCount);
    return counts;
  }
  // By BlockStep::value, for each block that the table has now: whether its step ends all trips
  // that are under way and begins none (LoopBlock::EndsTrips). Valid until the next call.
  enum class Ends : uint8_t { kNotAsked, kYes, kNo };
  std::vector<Ends>& EndsOfTrips(const BlockTable& table) {
    std::vector<Ends>& ends = ends_[&table];
    if (ends.size() < 2 * table.size()) ends.resize(2 * table.size(), Ends::kNotAsked);
    return ends;
  }

 private:
  struct Key {
    const AddressSpace* space = nullptr;
    uint64_t address = 0;
    uint64_t end = 0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };

  LoopBlock& Make(const BlockTable& table, uint32_t number);
  LoopBlock& Find(const AddressSpace* space, CodeMode mode, uint64_t address,
                  std::span<const uint8_t> lengths, InstructionClass last);

  std::deque<LoopBlock> blocks_;
  std::unordered_map<Key, LoopBlock*, Hash> by_place_;
  std::unordered_map<const BlockTable*, std::vector<LoopBlock*>> tables_;
  std::unordered_map<const BlockTable*, std::vector<int32_t>> quiet_;
  std::unordered_map<const BlockTable*, std::vector<Ends>> ends_;
  const BlockTable* table_ = nullptr;  // that was asked for last
  std::vector<LoopBlock*>* known_ = nullptr;
};

}  // namespace flowback
