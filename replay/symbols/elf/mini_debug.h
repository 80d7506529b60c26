// SPDX-License-Identifier: MIT
// MiniDebugInfo: the symbols of a stripped program's functions, in an ELF file that is packed by xz
// into the program's section .gnu_debugdata. Fedora's packages have it.
#pragma once

#include <memory>

#include "replay/symbols/elf/symbol_file.h"

namespace flowback::symbols {

// Returns the packed file. Returns null if the program has none, if it is damaged or no ELF file,
// or if it unpacks to more than a table of symbols does: 64 times its size and a megabyte.
std::unique_ptr<SymbolFile> OpenMiniDebug(const SymbolFile& file);

}  // namespace flowback::symbols
