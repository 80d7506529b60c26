// SPDX-License-Identifier: MIT
// Where the indirect jumps of switches lead.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "replay/coverage/code_flow.h"
#include "replay/coverage/code_outline.h"
#include "replay/coverage/register_values.h"

namespace flowback {

class JumpTables {
 public:
  // What the flow has come to when this is made is what is known of ways and of references. Both
  // must outlive the object.
  JumpTables(const CodeFlow& flow, const CodeOutline& outline);

  // Sorted. Empty: it is not known where the jump leads.
  std::vector<uint64_t> TargetsOf(uint64_t jump);
  // It is through one fixed word of memory, which the loader sets: it leads to another function.
  bool IsThroughPointer(uint64_t jump);

 private:
  struct Table {
    uint64_t address = 0;
    uint64_t base = 0;  // what entries are relative to; 0: nothing
    unsigned width = 0;
    uint64_t load = 0;  // the instruction that reads it
    uint8_t index = kNoRegister;
  };

  void NoteReferences(const CodeOutline& outline);
  std::optional<Table> OfJump(uint64_t jump);
  std::optional<Table> OfRegister(uint8_t reg, uint64_t place, unsigned depth);
  std::optional<Table> OfSum(uint8_t entry, uint8_t base, uint64_t place);
  std::optional<Table> OfMemory(const MemoryAddress& memory, uint64_t place);
  std::optional<uint64_t> Bound(const Table& table);
  std::optional<uint64_t> Entry(const Table& table, uint64_t number) const;
  bool IsTarget(uint64_t jump, uint64_t target) const;
  const StaticFunction* FunctionAt(uint64_t address) const;

  const CodeFlow& flow_;
  const CodeOutline& outline_;
  std::vector<CodeFlow::Jump> jumps_;
  // Address of the global offset table, which 32-bit code takes addresses from; else 0.
  uint64_t global_offsets_ = 0;
  RegisterValues values_;
  std::vector<std::pair<uint64_t, uint64_t>> pointers_;
  std::vector<uint64_t> references_;  // sorted
};

}  // namespace flowback
