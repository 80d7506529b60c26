// SPDX-License-Identifier: MIT
// The ranges of the kernel's code, from its own lists of symbols and modules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/model/recording.h"

namespace flowback::record {

constexpr uint64_t ToPage(uint64_t address) { return (address + 4095) & ~uint64_t{4095}; }

// `why` it can't be copied: kUnreadable, with what still can be done.
Error NoKernelCode(const std::string& why);

// Returns ranges of whole pages: the kernel's text, and from the first module, or other code that
// has symbols (BPF), to the last. `symbols` is /proc/kallsyms, `modules` /proc/modules. Errors:
// kPermission where the addresses in them are hidden; kUnreadable where they contain no text.
Result<std::vector<AddressRange>> KernelCodeRanges(std::string_view symbols,
                                                   std::string_view modules);

}  // namespace flowback::record
