// SPDX-License-Identifier: MIT
// What perf's samples say of an access to memory, as its words have it.
#pragma once

#include <cstdint>

#include "capture/formats/field_reader.h"
#include "flowback/model/event_sample.h"

namespace flowback::perf {

// PERF_SAMPLE_DATA_SRC: what kind of access it was, where the data was found, what other caches
// had.
void ApplyDataSource(uint64_t word, ByteOrder order, MemoryAccess& access);

}  // namespace flowback::perf
