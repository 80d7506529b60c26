// SPDX-License-Identifier: MIT
// An ELF file opened with libelf: the few accesses that symbol reading needs, bounds checked.
#pragma once

#include <gelf.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "flowback/model/recording.h"

namespace flowback::symbols {

struct FileSection {
  Elf_Scn* handle = nullptr;
  std::string name;
  GElf_Shdr header{};
};

class SymbolFile {
 public:
  // Null when the file can't be read or is no ELF file.
  static std::unique_ptr<SymbolFile> Open(const std::string& path);
  // Opens bytes that stay in memory as long as `owner` lives.
  static std::unique_ptr<SymbolFile> Open(const std::string& path, Bytes bytes,
                                          std::shared_ptr<const void> owner);
  ~SymbolFile();

  const std::vector<FileSection>& sections() const { return sections_; }
  const FileSection* Find(std::string_view name) const;
  // Returns the section with that number in the file; null: no such section.
  const FileSection* At(size_t index) const;
  uint16_t machine() const { return machine_; }
  uint64_t entry() const { return entry_; }  // the address where the program begins; 0: none
  // Returns addresses of code, half-open: the sections, or the executable segments if the file has
  // no code sections.
  std::vector<std::pair<uint64_t, uint64_t>> CodeRanges() const;
  BuildId build_id() const;
  // Words of memory that the loader sets to addresses of this very file, sorted; the address as
  // linked, and the value before the file is moved. Only where relocations have the values.
  std::vector<std::pair<uint64_t, uint64_t>> LoadedPointers() const;
  // Where the byte loaded at `address` (as linked) stands in the file.
  std::optional<uint64_t> FileOffset(uint64_t address) const;
  // The address, as linked, of the byte at a place in the file; what can be executed goes first.
  std::optional<uint64_t> Address(uint64_t file_offset) const;
  const std::string& path() const { return path_; }
  Bytes bytes() const { return bytes_; }
  // The section's contents; empty when it has none or they lie outside the file.
  Bytes Contents(const FileSection& section) const;
  // A copy, unpacked where the section is compressed (zlib, also in the old way, .zdebug_*); empty
  // also where that can't be done.
  std::vector<uint8_t> Unpacked(const FileSection& section) const;
  // A string of the string table `table`; empty when out of range.
  std::string_view String(size_t table, size_t offset) const;
  Elf_Data* Data(const FileSection& section) const { return elf_getdata(section.handle, nullptr); }

 private:
  SymbolFile() = default;
  void ReadHeaders();

  struct PackedHeader {
    size_t size;  // bytes in front of the packed data
    uint64_t unpacked;
  };
  std::optional<PackedHeader> CompressionHeader(const FileSection& section) const;
  static std::optional<PackedHeader> OldHeader(Bytes packed);

  std::string path_;
  Bytes bytes_;
  std::shared_ptr<const void> owner_;
  Elf* elf_ = nullptr;
  uint16_t machine_ = EM_NONE;
  uint64_t entry_ = 0;
  std::vector<FileSection> sections_;
  std::vector<GElf_Phdr> loads_;
};

}  // namespace flowback::symbols
