// SPDX-License-Identifier: MIT
// What BOLT calls functions: by their symbols, and local ones by number, since several files may
// each have a function of one name.
//
//   main       global
//   check/1    the first local symbol of that name, by address
//   check/2    the second
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "replay/symbols/elf/symbol_file.h"

namespace flowback::symbols {

// By the address that the symbol table gives; of several at one address a global one goes first.
// Only what the file's own symbol table calls a function is here: BOLT reads no other file.
std::map<uint64_t, std::string> BoltNames(const SymbolFile& file);

}  // namespace flowback::symbols
