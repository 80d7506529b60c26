// SPDX-License-Identifier: MIT
// The variables of a function and of those that are inlined at an address, from DWARF.
#pragma once

#include <llvm/DebugInfo/DWARF/DWARFContext.h>

#include <cstdint>
#include <functional>

#include "replay/symbols/lines/dwarf_file.h"

namespace flowback::symbols {

// `note` receives what cannot be read.
VariablesInfo VariablesAt(llvm::DWARFContext& context, uint64_t address,
                          const std::function<void(llvm::Error)>& note);

}  // namespace flowback::symbols
