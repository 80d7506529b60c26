// SPDX-License-Identifier: MIT
// The calls that a thread made or returned from before a place, as a tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "flowback/replay/flow_index.h"
#include "flowback/replay/thread_cursor.h"

namespace flowback {

// A stay in a function: from its entry, or from the return of what it called, or from where the
// list begins.
struct LastCall {
  uint64_t number = 0;      // of the thread's instruction with which it begins
  uint64_t end_number = 0;  // of the one behind its return; of what has not returned, the end
  uint64_t site = 0;        // of the call; 0: it was not seen
  uint64_t entry = 0;       // address of the first instruction that was seen in it
  uint64_t tsc = 0;         // then; 0: not known
  unsigned depth = 0;       // 0: the outermost of the list
  bool has_returned = false;
  const AddressSpace* space = nullptr;
};

// Reads back from the cursor's place over at most so many instructions. Calls are told by call and
// return instructions: a jump to another function belongs to the function that it leaves, and the
// stub of a procedure linkage table to what it leads to. Returns at most `most` calls, by their
// begin: those that began last, and those around them. A loss ends the list.
std::vector<LastCall> LastCallsBefore(ThreadCursor& cursor, uint64_t most_instructions,
                                      size_t most);

}  // namespace flowback
