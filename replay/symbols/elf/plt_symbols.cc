// SPDX-License-Identifier: MIT
// A stub of a procedure linkage table jumps through a slot of the global offset table; the
// relocation of that slot names the function. Reading the jump itself works for every layout
// (.plt, .plt.sec, .plt.got, with and without ENDBR or BTI), where counting entries does not.
#include <array>
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <unordered_map>

#include "replay/symbols/elf/elf_symbols.h"
#include "replay/symbols/elf/name_budget.h"

namespace flowback::symbols {
namespace {

struct StubCode {
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t slot = 0;  // through which it jumps
};

constexpr int kStubRank = 9;  // behind any symbol of the table itself

using SlotNames = std::unordered_map<uint64_t, std::string>;  // by address of the slot

std::string IndirectName(uint64_t resolver) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "*ABS*+0x%" PRIx64, resolver);
  return text.data();
}

uint64_t IndirectType(uint16_t machine) {
  switch (machine) {
    case EM_386:
      return R_386_IRELATIVE;
    case EM_AARCH64:
      return R_AARCH64_IRELATIVE;
    default:
      return R_X86_64_IRELATIVE;
  }
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
    if (type == IndirectType(file.machine())) {
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

// What EBX has in position-independent code of 32 bits: where the table of the stubs' slots begins.
uint64_t TableOf(const SymbolFile& file) {
  for (const char* name : {".got.plt", ".got"})
    if (const FileSection* section = file.Find(name)) return section->header.sh_addr;
  return 0;
}

// The slot that the stub at `address` jumps through: FF 25, or FF A3 by EBX, in its first bytes.
std::optional<uint64_t> SlotOf(const SymbolFile& file, Bytes stub, uint64_t address) {
  constexpr size_t kJumpSize = 6;
  constexpr uint8_t kJump = 0x25, kJumpByEbx = 0xa3;
  for (size_t at = 0; at + kJumpSize <= stub.size(); ++at) {
    const bool by_ebx = file.machine() == EM_386 && stub[at + 1] == kJumpByEbx;
    if (stub[at] != 0xff || (stub[at + 1] != kJump && !by_ebx)) continue;
    const auto word = static_cast<uint32_t>(LoadLittleEndian(stub.data() + at + 2, 4));
    if (by_ebx) return static_cast<uint32_t>(TableOf(file) + word);
    if (file.machine() == EM_386) return word;
    return address + at + kJumpSize + static_cast<uint64_t>(int64_t{static_cast<int32_t>(word)});
  }
  return std::nullopt;
}

void AddStub(const SymbolFile& file, const StubCode& stub, const SlotNames& names,
             NameBudget& budget, std::vector<ElfSymbol>& symbols) {
  const auto name = names.find(stub.slot);
  const auto begin = file.FileOffset(stub.address);
  if (name == names.end() || !begin) return;
  symbols.push_back({.begin = *begin,
                     .end = *begin + stub.size,
                     .limit = *begin + stub.size,
                     .rank = kStubRank,
                     .is_function = true,
                     .has_size = true,
                     .name = budget.Take(name->second) + "@plt"});
}

void AddStubs(const SymbolFile& file, const FileSection& section, const SlotNames& names,
              NameBudget& budget, std::vector<ElfSymbol>& symbols) {
  const Bytes bytes = file.Contents(section);
  const uint64_t size = section.header.sh_entsize == 8 ? 8 : 16;
  for (uint64_t at = 0; at + size <= bytes.size(); at += size) {
    const uint64_t address = section.header.sh_addr + at;
    const auto slot = SlotOf(file, bytes.subspan(at, size), address);
    if (slot) AddStub(file, {address, size, *slot}, names, budget, symbols);
  }
}

// AArch64's stubs have three sizes: with BTI ahead, and with the authentication of the address in
// them. All have ADRP Xn and LDR X17, [Xn, #offset], and end in BR X17.
void AddAArch64Stubs(const SymbolFile& file, const FileSection& section, const SlotNames& names,
                     NameBudget& budget, std::vector<ElfSymbol>& symbols) {
  constexpr uint32_t kBtiC = 0xd503245f;
  constexpr uint32_t kBr17 = 0xd61f0220;
  constexpr uint64_t kMostWords = 6;  // of a stub, from ADRP on
  const Bytes bytes = file.Contents(section);
  const auto word = [&](uint64_t at) {
    return at + 4 <= bytes.size() ? static_cast<uint32_t>(LoadLittleEndian(&bytes[at], 4)) : 0;
  };
  for (uint64_t at = 0; at + 8 <= bytes.size(); at += 4) {
    const uint32_t page = word(at);
    const uint32_t load = word(at + 4);
    const bool of_stub = (page & 0x9f000000) == 0x90000000 && (load & 0xffc0001f) == 0xf9400011 &&
                         (load >> 5 & 31) == (page & 31);
    uint64_t end = at + 8;
    while (end < at + 4 * kMostWords && word(end) != kBr17) end += 4;
    if (!of_stub || word(end) != kBr17) continue;
    const uint64_t address = section.header.sh_addr + at;
    const int64_t pages =
        static_cast<int32_t>((page >> 5 & 0x7ffff) << 2 | (page >> 29 & 3)) << 11 >> 11;
    const uint64_t slot = (address & ~uint64_t{0xfff}) + static_cast<uint64_t>(pages) * 4096 +
                          (load >> 10 & 0xfff) * uint64_t{8};
    const uint64_t ahead = at >= 4 && word(at - 4) == kBtiC ? 4 : 0;
    AddStub(file, {address - ahead, end + 4 - at + ahead, slot}, names, budget, symbols);
  }
}

}  // namespace

std::vector<ElfSymbol> ReadPltSymbols(const SymbolFile& file) {
  std::vector<ElfSymbol> symbols;
  const bool is_arm = file.machine() == EM_AARCH64;
  if (file.machine() != EM_X86_64 && file.machine() != EM_386 && !is_arm) return symbols;
  SlotNames names;
  NameBudget budget(file.bytes().size());
  for (const FileSection& section : file.sections())
    if (section.header.sh_type == SHT_RELA || section.header.sh_type == SHT_REL)
      AddRelocations(file, section, budget, names);
  if (names.empty()) return symbols;
  for (const char* name : {".plt", ".plt.sec", ".plt.got"})
    if (const FileSection* section = file.Find(name))
      (is_arm ? AddAArch64Stubs : AddStubs)(file, *section, names, budget, symbols);
  return symbols;
}

}  // namespace flowback::symbols
