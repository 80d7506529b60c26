// SPDX-License-Identifier: MIT
// Where the value that a register has at a place comes from, by going back through all ways that
// are known to lead there.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "decode/instruction/computation.h"
#include "replay/coverage/code_flow.h"

namespace flowback {

class RegisterValues {
 public:
  // `jumps` is sorted. Both must outlive the object. An address is taken to be relative to
  // `assumed_base`, where that is not 0, when the register that it is relative to has no constant.
  RegisterValues(const CodeFlow& flow, const std::vector<CodeFlow::Jump>& jumps,
                 uint64_t assumed_base = 0)
      : flow_(flow), jumps_(jumps), assumed_base_(assumed_base) {}

  const Computation& At(uint64_t address);
  // The instructions that may have written the register last before control comes to `address`.
  // Empty: one of the ways could not be followed to its end.
  std::vector<uint64_t> Definitions(uint8_t reg, uint64_t address);
  // The value, where it is the same on all ways; `depth` bounds the copies that are gone through.
  std::optional<uint64_t> Constant(uint8_t reg, uint64_t address, unsigned depth = kDepth);
  // The instruction before it in memory that goes on there; 0: none.
  uint64_t Before(uint64_t address) const;

  static constexpr unsigned kDepth = 6;

 private:
  std::optional<uint64_t> Address(const MemoryAddress& memory, uint64_t place, unsigned depth);

  static constexpr size_t kMostSteps = 20'000;  // of one search

  const CodeFlow& flow_;
  const std::vector<CodeFlow::Jump>& jumps_;
  const uint64_t assumed_base_;
  std::unordered_map<uint64_t, Computation> known_;
};

}  // namespace flowback
