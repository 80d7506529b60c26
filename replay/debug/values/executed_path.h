// SPDX-License-Identifier: MIT
// The last instructions of a thread, as the value engine takes them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "flowback/replay/flow_index.h"
#include "replay/values/path.h"

namespace flowback {

struct ThreadPath {
  values::ExecutedPath path;
  uint64_t first = 0;                   // the number of its first instruction in the thread
  const AddressSpace* space = nullptr;  // all instructions were executed in
};

// A place of a thread's flow.
struct PathEnd {
  uint64_t number = 0;   // of the instructions before it
  uint64_t address = 0;  // where control stood
};

// Reads back from the thread's place: up to `most` instructions, not past the kernel's code or a
// change of the process's mappings. `shared`: other threads may have written to memory at any time.
// Without instructions where the flow does not lead to that address.
ThreadPath LastPathOf(FlowIndex& index, const IndexedThread& thread, const PathEnd& end,
                      size_t most, bool shared);

}  // namespace flowback
