// SPDX-License-Identifier: MIT
// Lists the calls that a thread made or returned from before a place, as a tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "flowback/replay/flow_index.h"
#include "flowback/replay/functions.h"
#include "flowback/replay/thread_cursor.h"

namespace flowback {

// A stay in a function. It begins at the function's entry, or where the list begins.
struct LastCall {
  uint64_t number = 0;      // of the thread's first instruction in it
  uint64_t end_number = 0;  // of the instruction behind its return, or of the place
  uint64_t site = 0;        // address of the call; 0: it was not seen
  uint64_t entry = 0;       // address of its first instruction that was seen
  uint64_t tsc = 0;         // of the call; 0: not known
  unsigned depth = 0;       // 0: the outermost of the list
  bool has_returned = false;
  bool was_left = false;  // control went further out: longjmp, an exception
  const AddressSpace* space = nullptr;

  bool is_open() const { return !has_returned && !was_left; }
};

// Reads at most `most_instructions` instructions back from the cursor's place. Call and return
// instructions begin and end a call. So does a jump to another function's code behind a call that
// has returned (of setjmp), or to the handler of an exception: it leaves all calls inside of that.
// Any other jump to another function counts as a part of the function that it leaves, and a stub of
// a procedure linkage table as a part of the function that it leads to. Returns at most `most`
// calls, in the order in which they began: the latest ones, and those around them. A loss ends the
// list.
std::vector<LastCall> LastCallsBefore(ThreadCursor& cursor, FunctionFinder& functions,
                                      uint64_t most_instructions, size_t most);

}  // namespace flowback
