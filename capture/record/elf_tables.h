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

// The tables of a 64-bit ELF file.
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

  // Up to a NUL; empty when there is none.
  static std::string_view Text(Bytes table, uint64_t offset) {
    const Bytes rest = Slice(table, offset, table.size());
    const auto end = std::ranges::find(rest, 0);
    if (end == rest.end()) return {};
    return {reinterpret_cast<const char*>(rest.data()), static_cast<size_t>(end - rest.begin())};
  }

  explicit ElfTables(Bytes file) : file_(file) {
    const auto header = Load<Elf64_Ehdr>(file, 0);
    if (!header || !std::equal(ELFMAG, ELFMAG + SELFMAG, header->e_ident) ||
        header->e_ident[EI_CLASS] != ELFCLASS64)
      return;
    for (uint64_t i = 0; i < header->e_phnum; ++i)
      if (const auto segment = Load<Elf64_Phdr>(file, header->e_phoff + i * sizeof(Elf64_Phdr)))
        segments_.push_back(*segment);
    for (uint64_t i = 0; i < header->e_shnum; ++i)
      if (const auto section = Load<Elf64_Shdr>(file, header->e_shoff + i * sizeof(Elf64_Shdr)))
        sections_.push_back(*section);
  }

  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  Bytes Content(const Elf64_Shdr& section) const {
    return section.sh_type == SHT_NOBITS ? Bytes{}
                                         : Slice(file_, section.sh_offset, section.sh_size);
  }
  // Of code at the address the file was linked for.
  std::optional<uint64_t> FileOffset(uint64_t address) const {
    for (const Elf64_Phdr& segment : segments_)
      if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 &&
          address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
        return address - segment.p_vaddr + segment.p_offset;
    return std::nullopt;
  }
  // In hexadecimal digits; empty when there is none.
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
  Bytes file_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_;
};

}  // namespace flowback::record
