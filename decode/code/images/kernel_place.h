// SPDX-License-Identifier: MIT
// Where the kernel lay. Each boot may put it elsewhere (KASLR): that a kernel is of the recorded
// build is no proof that its addresses are those of the recording.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "flowback/model/recording.h"

namespace flowback {

// perf's name for the kernel's own code; followed by the symbol with its place.
inline constexpr std::string_view kKernelMap = "[kernel.kallsyms]";

struct KernelPlace {
  std::string symbol;    // whose address it is: "_text", "_stext"
  uint64_t address = 0;  // 0: unknown
};

// Returns the place recorded with the kernel's map ("[kernel.kallsyms]_text", its offset).
KernelPlace RecordedPlace(const Recording& recording);

// Where a list of symbols as in /proc/kallsyms has `symbol`; 0: unknown, as for users who may not
// see the kernel's addresses.
uint64_t PlaceInSymbols(const std::string& kallsyms, const std::string& symbol);

}  // namespace flowback
