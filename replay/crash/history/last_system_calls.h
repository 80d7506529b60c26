// SPDX-License-Identifier: MIT
// The system calls that a thread made last, with the proven parts of their arguments and results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replay/debug/values/past_values.h"

namespace flowback {

struct CrashCallArgument {
  char kind = 'p';                  // a letter of system_call_shapes.def
  std::optional<uint64_t> value{};  // empty: not proven
  std::string text{};               // that it points to, as far as it is proven
  bool is_whole = false;            // that is all of the text
};

struct CrashSystemCall {
  uint64_t number = 0;   // of the thread's instruction
  uint64_t tsc = 0;      // then; 0: not known
  uint64_t address = 0;  // of the instruction
  const AddressSpace* space = nullptr;
  std::string name{};      // empty: which call it is is not proven
  bool has_shape = false;  // what its arguments are is known
  std::vector<CrashCallArgument> arguments{};
  bool has_returned = false;
  std::optional<int64_t> result{};  // empty: not proven; an error is negative, as the kernel has it
};

// Returns the last system calls in the place's history, at most `most` of them, in their order.
// `last_number`: the number of the call at the path's end, as the dump has it.
std::vector<CrashSystemCall> LastSystemCalls(const PastValues::Place& place, size_t most,
                                             std::optional<uint64_t> last_number);

}  // namespace flowback
