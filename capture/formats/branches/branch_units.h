// SPDX-License-Identifier: MIT
// One function for each hardware unit that records branches: registers become records.
#pragma once

#include <cstdint>
#include <optional>

#include "capture/formats/branches/branch_registers.h"

namespace flowback {

RegisterStacks BrbeStacks(const BranchRegisters& registers);
RegisterStacks ArchLbrStacks(const BranchRegisters& registers);
RegisterStacks LbrStacks(const BranchRegisters& registers);
RegisterStacks BrsStacks(const BranchRegisters& registers);
RegisterStacks LbrV2Stacks(const BranchRegisters& registers);

// What the units have in common.

// Bits `high` to `low` of a word, as manuals write them.
constexpr uint64_t Bits(uint64_t word, unsigned high, unsigned low) {
  const uint64_t shifted = word >> low;
  return high - low == 63 ? shifted : shifted & ((uint64_t{1} << (high - low + 1)) - 1);
}
constexpr bool Bit(uint64_t word, unsigned bit) { return (word >> bit & 1) != 0; }
// The address's bits up to `highest`; those above are as that one.
constexpr uint64_t SignExtended(uint64_t word, unsigned highest) {
  const unsigned shift = 63 - highest;
  return static_cast<uint64_t>(static_cast<int64_t>(word << shift) >> shift);
}

// Empty: the dump does not have it.
inline std::optional<uint64_t> ValueOf(const BranchRegisters& registers, BranchRegister::Role role,
                                       uint32_t number = 0) {
  const auto found = registers.find({role, number});
  if (found == registers.end()) return std::nullopt;
  return found->second;
}

// One more than the highest number of a record that has a register in the dump.
uint32_t RecordsIn(const BranchRegisters& registers);

// Puts records together as they come, the newest first.
class StackBuilder {
 public:
  void Add(const BranchRecord& record) { newest_first_.push_back(record); }
  // What ran at this place of the list is not known.
  void Cut() {
    if (!newest_first_.empty()) result.stacks.push_back(std::move(newest_first_));
    newest_first_.clear();
  }
  // A record lacks a register.
  void AddIncomplete() {
    ++result.incomplete;
    Cut();
  }
  RegisterStacks Take() {
    Cut();
    std::ranges::reverse(result.stacks);
    return std::move(result);
  }

  RegisterStacks result;

 private:
  std::vector<BranchRecord> newest_first_;
};

}  // namespace flowback
