// SPDX-License-Identifier: MIT
#include "replay/symbols/elf/data_names.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "replay/symbols/demangle/demangle.h"
#include "replay/symbols/elf/symbol_file.h"

namespace flowback {
namespace {

struct Symbol {
  uint64_t begin = 0;  // addresses as linked
  uint64_t end = 0;
  std::string_view name;
};

bool IsData(const symbols::FileSection& section) {
  const auto flags = section.header.sh_flags;
  return (flags & SHF_ALLOC) != 0 && (flags & (SHF_EXECINSTR | SHF_TLS)) == 0;
}

void AddTable(const symbols::SymbolFile& file, const symbols::FileSection& table,
              std::vector<Symbol>& all) {
  Elf_Data* data = file.Data(table);
  if (data == nullptr || table.header.sh_entsize == 0) return;
  const size_t count = data->d_size / table.header.sh_entsize;
  for (size_t i = 1; i < count; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
    const int type = GELF_ST_TYPE(symbol.st_info);
    if (type != STT_OBJECT && type != STT_COMMON) continue;
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0) continue;
    const std::string_view name = file.String(table.header.sh_link, symbol.st_name);
    if (name.empty() || symbol.st_value + symbol.st_size < symbol.st_value) continue;
    all.push_back({symbol.st_value, symbol.st_value + symbol.st_size, name});
  }
}

}  // namespace

struct DataNames::File {
  std::unique_ptr<symbols::SymbolFile> file;  // null: it can't be read
  std::vector<Symbol> symbols;                // by begin

  bool HasData(uint64_t address) const {
    return std::ranges::any_of(file->sections(), [&](const symbols::FileSection& each) {
      return IsData(each) && address >= each.header.sh_addr &&
             address - each.header.sh_addr < each.header.sh_size;
    });
  }
  // The one that begins last among the nearest ones; null: none.
  const Symbol* Find(uint64_t address) const {
    constexpr int kMostLooks = 16;
    auto at = std::ranges::upper_bound(symbols, address, {}, &Symbol::begin);
    for (int i = 0; i < kMostLooks && at != symbols.begin(); ++i)
      if (address < (--at)->end) return &*at;
    return nullptr;
  }
};

DataNames::DataNames() = default;
DataNames::~DataNames() = default;

const DataNames::File* DataNames::Open(const std::string& path) {
  std::unique_ptr<File>& known = files_[path];
  if (known == nullptr) {
    known = std::make_unique<File>();
    known->file = symbols::SymbolFile::Open(path);
    if (known->file == nullptr) return nullptr;
    for (const symbols::FileSection& section : known->file->sections())
      if (section.header.sh_type == SHT_SYMTAB || section.header.sh_type == SHT_DYNSYM)
        AddTable(*known->file, section, known->symbols);
    std::ranges::stable_sort(known->symbols, {}, &Symbol::begin);
  }
  return known->file == nullptr ? nullptr : known.get();
}

DataNames::Loaded DataNames::Load(const CodeMapping& mapping) {
  const File* file = Open(mapping.section->name());
  if (file == nullptr) return {};
  const auto linked = file->file->Address(mapping.section->file_offset() + mapping.section_offset);
  return linked ? Loaded{file, mapping.address - *linked} : Loaded{};
}

std::optional<DataNames::Name> DataNames::Find(const AddressSpace& space, uint64_t address) {
  for (const CodeMapping& mapping : space.mappings()) {
    const Loaded loaded = Load(mapping);
    if (loaded.file == nullptr) continue;
    const uint64_t place = address - loaded.bias;
    if (!loaded.file->HasData(place)) continue;
    Name name;
    name.file = mapping.section->name();
    name.place = place;
    if (const Symbol* symbol = loaded.file->Find(place)) {
      name.symbol = symbols::Demangled(std::string(symbol->name));
      name.offset = place - symbol->begin;
    }
    return name;
  }
  return std::nullopt;
}

std::optional<uint64_t> DataNames::AddressOf(const AddressSpace& space, std::string_view symbol) {
  for (const CodeMapping& mapping : space.mappings()) {
    const Loaded loaded = Load(mapping);
    if (loaded.file == nullptr) continue;
    const auto found = std::ranges::find(loaded.file->symbols, symbol, &Symbol::name);
    if (found != loaded.file->symbols.end()) return found->begin + loaded.bias;
  }
  return std::nullopt;
}

}  // namespace flowback
