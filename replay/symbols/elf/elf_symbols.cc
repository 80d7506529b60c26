// SPDX-License-Identifier: MIT
// Symbols overlap: aliases, a local label inside a function, functions of unknown size. Build sorts
// them and cuts the file into ranges that each belong to one symbol, so that a look-up is one
// binary search. The innermost symbol wins: the one that started last among those that still cover
// the place. A symbol without a size reaches to the next symbol or to the end of its section.
#include "replay/symbols/elf/elf_symbols.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "replay/symbols/demangle/demangle.h"
#include "replay/symbols/elf/mini_debug.h"
#include "replay/symbols/elf/name_budget.h"
#include "replay/symbols/elf/split_names.h"
#include "replay/symbols/elf/symbol_versions.h"

namespace flowback::symbols {
namespace {

// Local symbols first lose to weak ones, those to global ones: the global name is the known one.
int Rank(const GElf_Sym& symbol) {
  const int type = GELF_ST_TYPE(symbol.st_info);
  const int binding = GELF_ST_BIND(symbol.st_info);
  const int by_binding = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
  return (type == STT_NOTYPE ? 3 : 0) + by_binding;
}

bool IsFunction(const GElf_Sym& symbol) {
  const int type = GELF_ST_TYPE(symbol.st_info);
  return type == STT_FUNC || type == STT_GNU_IFUNC;
}

bool NamesCode(const SymbolFile& file, const GElf_Sym& symbol) {
  const int type = GELF_ST_TYPE(symbol.st_info);
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE) return false;
  if (IsFunction(symbol)) return true;
  if (type != STT_NOTYPE) return false;
  const FileSection* section = file.At(symbol.st_shndx);
  return section != nullptr && (section->header.sh_flags & SHF_EXECINSTR) != 0;
}

// The end of the section that holds `address`, for symbols without a size.
uint64_t SectionEnd(const SymbolFile& file, const GElf_Sym& symbol) {
  const FileSection* section = file.At(symbol.st_shndx);
  if (section == nullptr || symbol.st_value < section->header.sh_addr) return symbol.st_value;
  return std::max(symbol.st_value, section->header.sh_addr + section->header.sh_size);
}

// Adds the symbols of `source`; offsets are those of `file`.
void AddTable(const SymbolFile& file, const SymbolFile& source, const FileSection& table,
              NameBudget& names, std::vector<ElfSymbol>& symbols) {
  Elf_Data* data = source.Data(table);
  if (data == nullptr || table.header.sh_entsize == 0) return;
  const size_t count = data->d_size / table.header.sh_entsize;
  const SymbolVersions versions(source, table);
  uint32_t source_file = 0;  // local symbols stand behind the symbol of their source file
  for (size_t i = 1; i < count; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
    if (GELF_ST_TYPE(symbol.st_info) == STT_FILE) ++source_file;
    if (!NamesCode(source, symbol)) continue;
    const std::string_view name = source.String(table.header.sh_link, symbol.st_name);
    const auto begin = file.FileOffset(symbol.st_value);
    if (name.empty() || !begin) continue;
    const uint64_t rest = SectionEnd(source, symbol) - symbol.st_value;
    const uint64_t size = std::min(symbol.st_size, rest);
    symbols.push_back({.begin = *begin,
                       .end = *begin + size,
                       .limit = *begin + rest,
                       .rank = Rank(symbol),
                       .is_function = IsFunction(symbol),
                       .has_size = size != 0,
                       .source = GELF_ST_BIND(symbol.st_info) == STB_LOCAL ? source_file : 0,
                       .whole = *begin,
                       .name = names.Take(name),
                       .version = names.Take(versions.Of(static_cast<int>(i)))});
  }
}

}  // namespace

ElfSymbols ElfSymbols::Read(const SymbolFile& file, const SymbolFile* debug_file) {
  ElfSymbols result;
  NameBudget names(file.bytes().size());
  for (const FileSection& section : file.sections())
    if (section.header.sh_type == SHT_SYMTAB || section.header.sh_type == SHT_DYNSYM)
      AddTable(file, file, section, names, result.symbols_);
  std::unique_ptr<SymbolFile> packed;
  if (debug_file == nullptr && file.Find(".symtab") == nullptr) packed = OpenMiniDebug(file);
  if (packed != nullptr) debug_file = packed.get();
  if (debug_file != nullptr) {
    NameBudget more(debug_file->bytes().size());
    for (const FileSection& section : debug_file->sections())
      if (section.header.sh_type == SHT_SYMTAB)
        AddTable(file, *debug_file, section, more, result.symbols_);
  }
  for (ElfSymbol& symbol : ReadPltSymbols(file)) result.symbols_.push_back(std::move(symbol));
  result.Build();
  return result;
}

// Source files may each have a local function of one name: moved code belongs to its own file's
// function, else to the global one, else to the nearest.
void ElfSymbols::FindWholes() {
  std::map<std::string_view, std::vector<const ElfSymbol*>> wanted;
  for (const ElfSymbol& symbol : symbols_)
    if (const std::string_view whole = MovedFrom(symbol.name); !whole.empty()) wanted[whole];
  if (wanted.empty()) return;
  for (const ElfSymbol& symbol : symbols_)
    if (const auto at = wanted.find(symbol.name); at != wanted.end()) at->second.push_back(&symbol);
  for (ElfSymbol& symbol : symbols_) {
    const auto at = wanted.find(MovedFrom(symbol.name));
    if (at == wanted.end() || at->second.empty()) continue;
    const auto distance = [&](const ElfSymbol* each) {
      const bool other = each->source != 0 && each->source != symbol.source;
      const bool general = each->source == 0;
      const uint64_t bytes =
          each->begin < symbol.begin ? symbol.begin - each->begin : each->begin - symbol.begin;
      return std::tuple(other, general, bytes);
    };
    const ElfSymbol& whole = **std::ranges::min_element(at->second, {}, distance);
    symbol.whole = whole.begin;
    // clang gives a label to each section of a function, and only the first one is a function.
    symbol.is_function = symbol.is_function || whole.is_function;
  }
}

// Keeps the first of several symbols at one place.
void ElfSymbols::TakeAliases() {
  size_t kept = 0;
  const auto add = [&](uint64_t begin, std::string name) {
    if (name != symbols_[kept - 1].name) aliases_.push_back({begin, std::move(name)});
  };
  for (size_t i = 0; i < symbols_.size(); ++i) {
    ElfSymbol& symbol = symbols_[i];
    const std::string version = std::exchange(symbol.version, {});
    std::string versioned = version.empty() ? "" : symbol.name + '@' + version;
    const uint64_t begin = symbol.begin;
    if (kept == 0 || symbols_[kept - 1].begin != begin) {
      if (kept != i) symbols_[kept] = std::move(symbol);
      ++kept;
    } else {
      add(begin, std::move(symbol.name));
    }
    if (!versioned.empty()) add(begin, std::move(versioned));
  }
  symbols_.resize(kept);
}

void ElfSymbols::Build() {
  std::ranges::sort(symbols_, {}, [](const ElfSymbol& symbol) {
    return std::tuple(symbol.begin, symbol.begin == symbol.end, symbol.rank,
                      std::string_view(symbol.name));
  });
  FindWholes();
  TakeAliases();
  for (size_t i = 0; i < symbols_.size(); ++i) {
    ElfSymbol& symbol = symbols_[i];
    if (symbol.end != symbol.begin) continue;
    symbol.end = symbol.limit;
    if (i + 1 < symbols_.size()) symbol.end = std::min(symbol.end, symbols_[i + 1].begin);
  }
  std::vector<uint32_t> open;  // symbols that cover the current place, the innermost last
  uint64_t place = 0;
  const auto emit = [&](uint64_t end) {
    if (!open.empty() && end > place) ranges_.push_back({place, end, open.back()});
    place = std::max(place, end);
  };
  const auto close_before = [&](uint64_t end) {
    while (!open.empty() && symbols_[open.back()].end <= end) {
      emit(symbols_[open.back()].end);
      open.pop_back();
    }
    emit(end);
  };
  for (uint32_t i = 0; i < symbols_.size(); ++i) {
    close_before(symbols_[i].begin);
    place = symbols_[i].begin;
    open.push_back(i);
  }
  close_before(UINT64_MAX);
  demangled_.assign(symbols_.size(), false);
}

const ElfSymbols::Range* ElfSymbols::RangeAt(uint64_t file_offset) const {
  auto range = std::ranges::upper_bound(ranges_, file_offset, {}, &Range::begin);
  if (range == ranges_.begin()) return nullptr;
  --range;
  return file_offset < range->end ? &*range : nullptr;
}

std::vector<std::string> ElfSymbols::OtherNames(uint64_t file_offset) {
  const Range* range = RangeAt(file_offset);
  if (range == nullptr) return {};
  std::vector<std::string> names;
  const uint64_t begin = symbols_[range->symbol].begin;
  for (const Alias& alias : std::ranges::equal_range(aliases_, begin, {}, &Alias::begin))
    names.push_back(Demangled(alias.name));
  return names;
}

void ElfSymbols::AppendNames(size_t most, std::vector<std::string>& names) const {
  for (const ElfSymbol& symbol : symbols_)
    if (names.size() < most && symbol.is_function) names.push_back(Demangled(symbol.name));
  for (const Alias& alias : aliases_)
    if (names.size() < most) names.push_back(Demangled(alias.name));
}

void ElfSymbols::VisitEntries(
    const std::function<void(const std::string& name, uint64_t file_offset)>& visit) const {
  auto alias = aliases_.begin();
  for (const ElfSymbol& symbol : symbols_) {
    while (alias != aliases_.end() && alias->begin < symbol.begin) ++alias;
    if (!symbol.is_function || symbol.whole != symbol.begin) continue;
    visit(Demangled(symbol.name), symbol.begin);
    for (auto at = alias; at != aliases_.end() && at->begin == symbol.begin; ++at)
      visit(Demangled(at->name), symbol.begin);
  }
}

std::optional<ElfSymbols::Hit> ElfSymbols::Find(uint64_t file_offset) {
  const Range* range = RangeAt(file_offset);
  if (range == nullptr) return std::nullopt;
  ElfSymbol& symbol = symbols_[range->symbol];
  if (!demangled_[range->symbol]) {
    symbol.name = Demangled(symbol.name);
    symbol.function_size = FunctionNameOf(symbol.name).size();
    demangled_[range->symbol] = true;
  }
  return Hit{.name = symbol.name,
             .offset = file_offset - symbol.begin,
             .size = symbol.end - symbol.begin,
             .is_function = symbol.is_function,
             .whole = symbol.whole,
             .function = std::string_view(symbol.name).substr(0, symbol.function_size)};
}

}  // namespace flowback::symbols
