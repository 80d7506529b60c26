// SPDX-License-Identifier: MIT
// Reads the tables of an ELF file by itself, for the emulator's plugin uses it as well: that should
// bring no library of ours into the emulated process. Each number from the file is checked before
// use.
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/base/bytes.h"

namespace flowback::record {

// The tables of an ELF file for 64-bit or 32-bit x86, in the structures of 64-bit ones.
class ElfTables {
 public:
  // Nothing where the file ends before.
  template <class T>
  static std::optional<T> Load(Bytes file, uint64_t offset) {
    const Bytes bytes = Slice(file, offset, sizeof(T));
    if (bytes.size() != sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }

  // Returns the text up to a NUL; empty: no NUL follows.
  static std::string_view Text(Bytes table, uint64_t offset) {
    const Bytes rest = Slice(table, offset, table.size());
    const auto end = std::ranges::find(rest, 0);
    if (end == rest.end()) return {};
    return {reinterpret_cast<const char*>(rest.data()), static_cast<size_t>(end - rest.begin())};
  }

  explicit ElfTables(Bytes file) : file_(file) {
    const auto ident = Slice(file, 0, EI_NIDENT);
    if (ident.size() != EI_NIDENT || std::memcmp(ident.data(), ELFMAG, SELFMAG) != 0) return;
    is_short_ = ident[EI_CLASS] == ELFCLASS32;
    if (is_short_)
      Read<Elf32_Ehdr, Elf32_Phdr, Elf32_Shdr>();
    else if (ident[EI_CLASS] == ELFCLASS64)
      Read<Elf64_Ehdr, Elf64_Phdr, Elf64_Shdr>();
  }

  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  Bytes Content(const Elf64_Shdr& section) const {
    return section.sh_type == SHT_NOBITS ? Bytes{}
                                         : Slice(file_, section.sh_offset, section.sh_size);
  }
  // Calls `visit` with each symbol of a symbol table and its name, in order.
  template <class Visit>
  void VisitSymbols(const Elf64_Shdr& table, const Visit& visit) const {
    if (table.sh_link >= sections_.size()) return;
    const Bytes names = Content(sections_[table.sh_link]);
    const Bytes symbols = Content(table);
    const uint64_t size = is_short_ ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym);
    for (uint64_t at = 0; at + size <= symbols.size(); at += size) {
      const Elf64_Sym symbol =
          is_short_ ? Widened(*Load<Elf32_Sym>(symbols, at)) : *Load<Elf64_Sym>(symbols, at);
      visit(symbol, Text(names, symbol.st_name));
    }
  }
  // Returns the file offset of code at the address the file was linked for.
  std::optional<uint64_t> FileOffset(uint64_t address) const {
    for (const Elf64_Phdr& segment : segments_)
      if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 &&
          address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
        return address - segment.p_vaddr + segment.p_offset;
    return std::nullopt;
  }
  // Returns the build-id in hexadecimal digits; empty: the file has no build-id.
  std::string BuildId() const {
    for (const Elf64_Shdr& section : sections_) {
      const Bytes note = section.sh_type == SHT_NOTE ? Content(section) : Bytes{};
      const auto header = Load<Elf64_Nhdr>(note, 0);
      if (!header || header->n_type != NT_GNU_BUILD_ID || Text(note, sizeof *header) != "GNU")
        continue;
      std::string digits;
      for (const uint8_t byte : Slice(note, sizeof *header + 4, header->n_descsz)) {
        digits += "0123456789abcdef"[byte >> 4];
        digits += "0123456789abcdef"[byte & 15];
      }
      return digits;
    }
    return {};
  }

 private:
  template <class Header, class Segment, class Section>
  void Read() {
    const auto header = Load<Header>(file_, 0);
    if (!header) return;
    for (uint64_t i = 0; i < header->e_phnum; ++i)
      if (const auto segment = Load<Segment>(file_, header->e_phoff + i * sizeof(Segment)))
        segments_.push_back(Widened(*segment));
    for (uint64_t i = 0; i < header->e_shnum; ++i)
      if (const auto section = Load<Section>(file_, header->e_shoff + i * sizeof(Section)))
        sections_.push_back(Widened(*section));
  }

  static const Elf64_Phdr& Widened(const Elf64_Phdr& segment) { return segment; }
  static const Elf64_Shdr& Widened(const Elf64_Shdr& section) { return section; }
  static Elf64_Phdr Widened(const Elf32_Phdr& segment) {
    return {.p_type = segment.p_type,
            .p_flags = segment.p_flags,
            .p_offset = segment.p_offset,
            .p_vaddr = segment.p_vaddr,
            .p_paddr = segment.p_paddr,
            .p_filesz = segment.p_filesz,
            .p_memsz = segment.p_memsz,
            .p_align = segment.p_align};
  }
  static Elf64_Shdr Widened(const Elf32_Shdr& section) {
    return {.sh_name = section.sh_name,
            .sh_type = section.sh_type,
            .sh_flags = section.sh_flags,
            .sh_addr = section.sh_addr,
            .sh_offset = section.sh_offset,
            .sh_size = section.sh_size,
            .sh_link = section.sh_link,
            .sh_info = section.sh_info,
            .sh_addralign = section.sh_addralign,
            .sh_entsize = section.sh_entsize};
  }
  static Elf64_Sym Widened(const Elf32_Sym& symbol) {
    return {.st_name = symbol.st_name,
            .st_info = symbol.st_info,
            .st_other = symbol.st_other,
            .st_shndx = symbol.st_shndx,
            .st_value = symbol.st_value,
            .st_size = symbol.st_size};
  }

  Bytes file_;
  bool is_short_ = false;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_;
};

}  // namespace flowback::record
