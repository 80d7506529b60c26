// SPDX-License-Identifier: MIT
// What perf's samples say of an access to memory, as its words have it.
#pragma once

#include <cstdint>

#include "base/recorded/event_sample.h"

namespace flowback::perf {

// PERF_SAMPLE_DATA_SRC: what kind of access it was, where the data was found, what other caches
// had. The word has the same value on a big-endian machine: linux/perf_event.h lists its fields
// the other way round for those.
void ApplyDataSource(uint64_t word, MemoryAccess& access);

}  // namespace flowback::perf
