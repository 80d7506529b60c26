// SPDX-License-Identifier: MIT
// The expressions of call frame information: what procedure linkage tables and the frames of
// signals need, beyond a register and an offset. [DWARF 5, "DWARF Expressions"]
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "flowback/base/bytes.h"

namespace flowback::symbols {

struct ExpressionInput {
  std::function<std::optional<uint64_t>(unsigned reg)> register_value;
  // `width` bytes of memory.
  std::function<std::optional<uint64_t>(uint64_t address, unsigned width)> memory;
  unsigned address_bytes = 8;
};

// Returns the value on top of the stack. `first`, if any, is pushed before. Empty: it asks for
// something that is not known, or it is damaged; it takes a bounded number of steps.
std::optional<uint64_t> Evaluate(Bytes expression, std::optional<uint64_t> first,
                                 const ExpressionInput& input);

}  // namespace flowback::symbols
