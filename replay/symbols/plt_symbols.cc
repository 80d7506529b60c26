// SPDX-License-Identifier: MIT
// A stub of a procedure linkage table jumps through a slot of the global offset table; the
// relocation of that slot names the function. Reading the jump itself works for every layout
// (.plt, .plt.sec, .plt.got, with and without ENDBR), where counting entries does not.
#include <array>
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <unordered_map>

#include "replay/symbols/elf_symbols.h"
#include "replay/symbols/name_budget.h"

namespace flowback::symbols {
namespace {

constexpr int kStubRank = 9;  // behind any symbol of the table itself

using SlotNames = std::unordered_map<uint64_t, std::string>;  // by address of the slot

std::string IndirectName(uint64_t resolver) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "*ABS*+0x%" PRIx64, resolver);
  return text.data();
}

void AddRelocations(const SymbolFile& file, const FileSection& table, NameBudget& budget,
                    SlotNames& names) {
  Elf_Data* data = file.Data(table);
  const FileSection* symbols = file.At(table.header.sh_link);
  if (data == nullptr || symbols == nullptr || table.header.sh_entsize == 0) return;
  Elf_Data* symbol_data = file.Data(*symbols);
  const size_t count = data->d_size / table.header.sh_entsize;
  for (size_t i = 0; symbol_data != nullptr && i < count; ++i) {
    GElf_Rela relocation{};
    GElf_Rel plain;
    if (table.header.sh_type == SHT_RELA) {
      if (gelf_getrela(data, static_cast<int>(i), &relocation) == nullptr) break;
    } else {
      if (gelf_getrel(data, static_cast<int>(i), &plain) == nullptr) break;
      relocation.r_offset = plain.r_offset;
      relocation.r_info = plain.r_info;
    }
    // Its resolver chooses at run time: named after that, as disassemblers do.
    const uint64_t type = GELF_R_TYPE(relocation.r_info);
    if (type == (file.machine() == EM_386 ? R_386_IRELATIVE : R_X86_64_IRELATIVE)) {
      names.emplace(relocation.r_offset, IndirectName(static_cast<uint64_t>(relocation.r_addend)));
      continue;
    }
    GElf_Sym symbol;
    const auto index = static_cast<int>(GELF_R_SYM(relocation.r_info));
    if (index <= 0 || gelf_getsym(symbol_data, index, &symbol) == nullptr) continue;
    const std::string_view name = file.String(symbols->header.sh_link, symbol.st_name);
    if (!name.empty()) names.emplace(relocation.r_offset, budget.Take(name));
  }
}

// The slot that the stub at `address` jumps through: FF 25 in its first bytes.
std::optional<uint64_t> SlotOf(const SymbolFile& file, Bytes stub, uint64_t address) {
  constexpr size_t kJumpSize = 6;
  for (size_t at = 0; at + kJumpSize <= stub.size(); ++at) {
    if (stub[at] != 0xff || stub[at + 1] != 0x25) continue;
    const auto word = static_cast<uint32_t>(LoadLittleEndian(stub.data() + at + 2, 4));
    if (file.machine() == EM_386) return word;
    return address + at + kJumpSize + static_cast<uint64_t>(int64_t{static_cast<int32_t>(word)});
  }
  return std::nullopt;
}

void AddStubs(const SymbolFile& file, const FileSection& section, const SlotNames& names,
              NameBudget& budget, std::vector<ElfSymbol>& symbols) {
  const Bytes bytes = file.Contents(section);
  const uint64_t size = section.header.sh_entsize == 8 ? 8 : 16;
  for (uint64_t at = 0; at + size <= bytes.size(); at += size) {
    const uint64_t address = section.header.sh_addr + at;
    const auto slot = SlotOf(file, bytes.subspan(at, size), address);
    if (!slot) continue;
    const auto name = names.find(*slot);
    const auto begin = file.FileOffset(address);
    if (name == names.end() || !begin) continue;
    symbols.push_back({.begin = *begin,
                       .end = *begin + size,
                       .limit = *begin + size,
                       .rank = kStubRank,
                       .is_function = true,
                       .has_size = true,
                       .name = budget.Take(name->second) + "@plt"});
  }
}

}  // namespace

std::vector<ElfSymbol> ReadPltSymbols(const SymbolFile& file) {
  std::vector<ElfSymbol> symbols;
  if (file.machine() != EM_X86_64 && file.machine() != EM_386) return symbols;
  SlotNames names;
  NameBudget budget(file.bytes().size());
  for (const FileSection& section : file.sections())
    if (section.header.sh_type == SHT_RELA || section.header.sh_type == SHT_REL)
      AddRelocations(file, section, budget, names);
  if (names.empty()) return symbols;
  for (const char* name : {".plt", ".plt.sec", ".plt.got"})
    if (const FileSection* section = file.Find(name))
      AddStubs(file, *section, names, budget, symbols);
  return symbols;
}

}  // namespace flowback::symbols
