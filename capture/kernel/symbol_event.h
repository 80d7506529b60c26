// SPDX-License-Identifier: MIT
// Events that have names of perf's own: `cycles`, `page-faults`, `L1-dcache-load-misses`, `r1a8`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "capture/kernel/wanted_event.h"

namespace flowback::kernel {

// Type and configuration; `pmu_specific` where each kind of core of a hybrid machine has its own.
struct SymbolEvent {
  uint32_t type = 0;
  uint64_t config = 0;

  bool pmu_specific() const { return type != PERF_TYPE_SOFTWARE; }
};

// Empty: no such name.
std::optional<SymbolEvent> FindSymbolEvent(std::string_view name);
// Finds a cache event by perf's name, which gives the cache, the access and its result. Empty: not
// such a name.
std::optional<SymbolEvent> FindCacheEvent(std::string_view name);

// The names that are most like it, for messages; "" when none is.
std::string NearEventNames(std::string_view name);

}  // namespace flowback::kernel
