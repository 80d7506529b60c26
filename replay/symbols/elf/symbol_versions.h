// SPDX-License-Identifier: MIT
// Which version of a name a dynamic symbol is: a library may define several.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "replay/symbols/elf/symbol_file.h"

namespace flowback::symbols {

// Versions of one symbol table. `file` must outlive it.
class SymbolVersions {
 public:
  SymbolVersions(const SymbolFile& file, const FileSection& table);

  // Returns the version of the table's symbol with that number, "GLIBC_2.14"; empty: it has none.
  std::string_view Of(int symbol) const;

 private:
  void ReadDefinitions(const SymbolFile& file, const FileSection& section);

  Elf_Data* numbers_ = nullptr;  // null: the table has no versions
  std::unordered_map<uint16_t, std::string_view> names_;
};

}  // namespace flowback::symbols
