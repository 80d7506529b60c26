// SPDX-License-Identifier: MIT
#include "replay/symbols/elf/bolt_names.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "replay/symbols/elf/name_budget.h"

namespace flowback::symbols {
namespace {

struct Symbol {
  uint64_t address = 0;
  std::string_view name;
  bool is_local = false;
  bool is_function = false;
};

// BOLT numbers local symbols of all kinds, in the order of addresses; in the table's order where
// these are the same.
std::vector<Symbol> SymbolsByAddress(const SymbolFile& file) {
  std::vector<Symbol> symbols;
  for (const FileSection& table : file.sections()) {
    if (table.header.sh_type != SHT_SYMTAB || table.header.sh_entsize == 0) continue;
    Elf_Data* data = file.Data(table);
    if (data == nullptr) continue;
    const size_t count = data->d_size / table.header.sh_entsize;
    for (size_t i = 1; i < count; ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
      const int type = GELF_ST_TYPE(symbol.st_info);
      const std::string_view name = file.String(table.header.sh_link, symbol.st_name);
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0 || type == STT_FILE ||
          type == STT_SECTION || name.empty())
        continue;
      symbols.push_back({symbol.st_value, name, GELF_ST_BIND(symbol.st_info) == STB_LOCAL,
                         type == STT_FUNC || type == STT_GNU_IFUNC});
    }
  }
  std::ranges::stable_sort(symbols, {}, &Symbol::address);
  return symbols;
}

}  // namespace

std::map<uint64_t, std::string> BoltNames(const SymbolFile& file) {
  std::map<uint64_t, std::string> names;
  std::unordered_map<std::string_view, uint64_t> numbers;
  NameBudget budget(file.bytes().size());
  std::map<uint64_t, bool> is_global;
  for (const Symbol& symbol : SymbolsByAddress(file)) {
    const uint64_t number = symbol.is_local ? ++numbers[symbol.name] : 0;
    if (!symbol.is_function) continue;
    if (is_global[symbol.address] || (symbol.is_local && names.contains(symbol.address))) continue;
    is_global[symbol.address] = !symbol.is_local;
    std::string name = budget.Take(symbol.name);
    if (symbol.is_local) name += '/' + std::to_string(number);
    names[symbol.address] = std::move(name);
  }
  return names;
}

}  // namespace flowback::symbols
