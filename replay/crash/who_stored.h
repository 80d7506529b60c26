// SPDX-License-Identifier: MIT
// Finds the thread that stored a value which the dying thread loaded.
//
// The search takes each thread's last write to the bytes, and counts everything that may have
// written there as a write. The youngest of these writes is the answer. It is proven if the bounds
// of the writes' times do not overlap. If they overlap, the most likely times decide; functions
// are taken to keep to the calling convention, and a stack pointer of unknown value to point
// elsewhere: then CrashStore::is_proven is false.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "replay/crash/bad_value.h"
#include "replay/crash/crash_report.h"
#include "replay/debug/values/past_values.h"

namespace flowback {

// The largest number of threads searched beside the dying one. If there are more, the result is
// empty.
inline constexpr size_t kMostStoringThreads = 31;

// `loaded`: the value was in memory ahead of the dying thread's instruction with this number.
// `may_be_proven`: the value's address is proven. Empty: no store is known to be the last one.
std::optional<CrashStore> WhoStored(const CrashInput& input, PastValues& past, size_t dying,
                                    const values::StoredValue& wanted, uint64_t loaded,
                                    bool may_be_proven);

// Finds the store that overwrote the guard of a frame, by elimination: of all that executed since
// the frame had it, one store alone, or the stores of one stay in a function, may have. Only of a
// process with one thread. The loader's function look-ups count as innocent if the result is not
// proven.
std::optional<CrashStore> WhoOverwrote(const CrashInput& input, PastValues& past, size_t dying,
                                       const BadValue& guard, unsigned bytes);

// Returns whether the process had more threads than are searched.
bool HasTooManyThreads(const CrashInput& input);

}  // namespace flowback
