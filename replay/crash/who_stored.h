// SPDX-License-Identifier: MIT
// Which thread stored a value that the dying one loaded.
//
// The store that wrote to the bytes last is told of: each thread's last write there is looked for,
// and what may have written there counts as a write. It is proven where the bounds of the writes'
// times do not meet. Else it goes by the most likely times, and takes it that no stack pointer of
// unknown value points at the bytes: the result says so (CrashStore::is_proven).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "replay/crash/crash_report.h"
#include "replay/debug/past_values.h"

namespace flowback {

// So many threads beside the dying one are looked at. Of a process with more, nobody is told.
inline constexpr size_t kMostStoringThreads = 8;

// `loaded`: the number of the dying thread's instruction ahead of which the value was there. Empty:
// none is proven.
std::optional<CrashStore> WhoStored(const CrashInput& input, PastValues& past, size_t dying,
                                    const values::StoredValue& wanted, uint64_t loaded);

// Whether the process had so many threads that it was not looked who stored the value.
bool HasTooManyThreads(const CrashInput& input);

}  // namespace flowback
