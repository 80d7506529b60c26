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

// Reads back from the thread's end: up to `most` instructions, not past the kernel's code or a
// change of the process's mappings. `end_address`: where control stood behind the last one.
// `shared`: other threads may have written to memory at any time. Without instructions where the
// flow's end does not lead to that address.
ThreadPath LastPathOf(FlowIndex& index, const IndexedThread& thread, uint64_t end_address,
                      size_t most, bool shared);

}  // namespace flowback
