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
    unsigned scale = 1;      // bytes that an entry counts in
    bool is_signed = false;  // entries are; those of four bytes always
    uint64_t load = 0;       // the instruction that reads it
    uint8_t index = kNoRegister;
  };

  // How many entries a table has, or where it is not exact has at most.
  struct Bound {
    uint64_t entries = 0;
    bool is_exact = false;
  };

  void NoteReferences(const CodeOutline& outline);
  void NoteX86References(Bytes code, uint64_t begin);
  void NoteArmReferences(Bytes code, uint64_t begin);
  std::optional<Table> OfJump(uint64_t jump);
  std::optional<Table> OfRegister(uint8_t reg, uint64_t place, unsigned depth);
  std::optional<Table> OfEither(const MemoryAddress& sum, uint64_t place);
  std::optional<Table> OfSum(const MemoryAddress& sum, uint64_t place);
  std::optional<Table> OfMemory(const MemoryAddress& memory, uint64_t place);
  std::optional<Bound> BoundOf(const Table& table);
  uint64_t OnlyWayTo(uint64_t address, uint8_t reg);
  std::optional<Bound> LargestOf(const Computation& computed, uint8_t reg) const;
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
