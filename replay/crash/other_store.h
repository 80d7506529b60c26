// SPDX-License-Identifier: MIT
// Which thread stored a value to memory that another one loaded.
#pragma once

#include <cstdint>
#include <optional>

#include "replay/debug/past_values.h"

namespace flowback {

// An instruction of a thread's history, by its number in the thread.
struct FoundStore {
  uint64_t number = 0;
  uint64_t address = 0;  // of the instruction
};

// The last store ahead of the place's point whose address and value are proven: `value`, or a part
// of it, to the eight bytes at `address`. Empty: there is none among the instructions that the
// history has, or a later one to these bytes stores something else, or what is not proven.
std::optional<FoundStore> LastStoreOf(const PastValues::Place& place, uint64_t address,
                                      uint64_t value);

}  // namespace flowback
