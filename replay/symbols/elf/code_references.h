// SPDX-License-Identifier: MIT
// Code that others may call, by an ELF file's tables and data: the names that it exports and uses,
// and the words of its data that point to code. For x86-64.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "replay/symbols/elf/symbol_file.h"

namespace flowback::symbols {

struct CodeReferences {
  // Functions that other files may call by name; addresses as linked.
  std::vector<std::pair<std::string, uint64_t>> exports;
  // Names that the loader looks up for this file.
  std::unordered_set<std::string> names;
  // Words of its data that may be names, which it has the loader look up in other files while it
  // runs.
  std::unordered_set<std::string> words;
  // Addresses that stand in its data, or that the loader calls. They need not be addresses of code.
  std::vector<uint64_t> pointers;
  // Other files that the loader brings with this one.
  std::vector<std::string> needed;
  std::string soname;
  bool is_program = false;  // it names a loader, so it is no library
  // Whether the file has the tables that this was read from.
  bool known = false;

  static CodeReferences Read(const SymbolFile& file);
};

}  // namespace flowback::symbols
