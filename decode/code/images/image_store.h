// SPDX-License-Identifier: MIT
// The files that code comes from, each opened once, and their sections, each made once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/mapped_file.h"
#include "decode/code/cache/disk_cache.h"
#include "decode/code/images/elf_file.h"
#include "flowback/base/error.h"
#include "flowback/decode/code_image.h"

namespace flowback {

struct ImageFile {
  std::string path;
  std::shared_ptr<const void> owner;  // of the bytes
  Bytes bytes;
  std::optional<ElfFile> elf;  // empty: another kind of file, or a damaged one
  std::optional<Error> damage;
  std::string kallsyms;  // as CodeSection's

  uint8_t bits() const { return elf ? elf->bits : 0; }
  std::optional<CodeMode> code_mode() const { return elf ? elf->code_mode() : std::nullopt; }
  BuildId build_id() const { return elf ? elf->build_id : BuildId{}; }
};

class ImageStore {
 public:
  using FilePointer = std::shared_ptr<const ImageFile>;

  // `disk` keeps the blocks of sections whose files have build-ids; null: they are not kept.
  explicit ImageStore(std::shared_ptr<const DiskCache> disk = nullptr) : disk_(std::move(disk)) {}

  // Errors: those of MappedFile::Open. Damage inside the file is for the caller to judge.
  Result<FilePointer> Open(const std::string& path);
  // Bytes from elsewhere, under a name that is no path.
  FilePointer Adopt(const std::string& name, std::vector<uint8_t> bytes);

  // The same file under another name; sections that are mapped of it have that name.
  FilePointer Alias(const FilePointer& file, const std::string& name);

  // A mapping of the file's bytes [file_offset, file_offset + size), cut at the file's end.
  // Mappings of one ELF segment share one section, and so the blocks that are decoded of it.
  CodeMapping MapFile(const FilePointer& file, uint64_t file_offset, uint64_t size,
                      uint64_t address, Verification verification);
  // The same for a range that is a section of its own.
  CodeMapping MapRange(const FilePointer& file, uint64_t file_offset, uint64_t size,
                       uint64_t address, Verification verification);
  // The same code where it is not known that these are the bytes that ran.
  CodeMapping Unverified(CodeMapping mapping);
  // All sections that have been mapped.
  std::vector<std::shared_ptr<const CodeSection>> Sections() const;
  // All files that have been opened.
  const std::vector<std::shared_ptr<const MappedFile>>& mapped() const { return mapped_; }

 private:
  using SectionKey = std::tuple<const ImageFile*, uint64_t, uint64_t, Verification>;
  void UseDisk(const CodeSection& section, const ImageFile& file) const;

  const std::shared_ptr<const DiskCache> disk_;
  std::map<std::string, Result<FilePointer>> files_;
  std::vector<std::shared_ptr<const MappedFile>> mapped_;
  std::map<SectionKey, std::shared_ptr<const CodeSection>> sections_;
  std::map<const CodeSection*, std::shared_ptr<const CodeSection>> unverified_;  // by the other
};

}  // namespace flowback
