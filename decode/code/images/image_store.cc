// SPDX-License-Identifier: MIT
#include "decode/code/images/image_store.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "decode/code/cache/block_cache.h"

namespace flowback {
namespace {

void ReadHeaders(ImageFile& file) {
  if (!LooksLikeElf(file.bytes)) return;
  Result<ElfFile> elf = ReadElf(file.bytes, file.path);
  if (elf)
    file.elf = std::move(*elf);
  else
    file.damage = std::move(elf.error());
}

}  // namespace

Result<ImageStore::FilePointer> ImageStore::Open(const std::string& path) {
  if (const auto known = files_.find(path); known != files_.end()) return known->second;
  const auto remember = [&](Result<FilePointer> result) {
    return files_.emplace(path, std::move(result)).first->second;
  };
  auto mapped = MappedFile::Open(path);
  if (!mapped) return remember(Fail(std::move(mapped.error())));
  auto file = std::make_shared<ImageFile>();
  file->path = path;
  file->bytes = (*mapped)->bytes();
  file->owner = *mapped;
  mapped_.push_back(std::move(*mapped));
  ReadHeaders(*file);
  return remember(FilePointer(std::move(file)));
}

ImageStore::FilePointer ImageStore::Adopt(const std::string& name, std::vector<uint8_t> bytes) {
  const auto owner = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  auto file = std::make_shared<ImageFile>();
  file->path = name;
  file->bytes = *owner;
  file->owner = owner;
  ReadHeaders(*file);
  return file;
}

ImageStore::FilePointer ImageStore::Alias(const FilePointer& file, const std::string& name) {
  if (const auto known = files_.find(name); known != files_.end() && known->second)
    return *known->second;
  auto alias = std::make_shared<ImageFile>(*file);
  alias->path = name;
  return *files_.insert_or_assign(name, Result<FilePointer>(std::move(alias))).first->second;
}

CodeMapping ImageStore::MapFile(const FilePointer& file, uint64_t file_offset, uint64_t size,
                                uint64_t address, Verification verification) {
  const uint64_t file_size = file->bytes.size();
  const uint64_t available = file_size - std::min(file_size, file_offset);
  size = std::min(size, available);
  if (file->elf) {
    for (const ElfSegment& segment : file->elf->code) {
      const uint64_t skipped = file_offset - segment.file_offset;
      if (skipped >= segment.size || size > segment.size - skipped) continue;
      CodeMapping mapping =
          MapRange(file, segment.file_offset, segment.size, address, verification);
      mapping.section_offset = skipped;
      mapping.size = size;
      return mapping;
    }
  }
  return MapRange(file, file_offset, size, address, verification);
}

CodeMapping ImageStore::MapRange(const FilePointer& file, uint64_t file_offset, uint64_t size,
                                 uint64_t address, Verification verification) {
  auto& section = sections_[{file.get(), file_offset, size, verification}];
  if (section == nullptr) {
    section = std::make_shared<CodeSection>(file->path, file_offset,
                                            Slice(file->bytes, file_offset, size), file,
                                            verification, file->code_mode(), file->kallsyms);
    UseDisk(*section, *file);
  }
  return {.address = address, .size = section->bytes().size(), .section = section};
}

// The section that it was made from owns the bytes, so it lives as long.
CodeMapping ImageStore::Unverified(CodeMapping mapping) {
  const std::shared_ptr<const CodeSection> known = mapping.section;
  if (known->verification() == Verification::kUnverified) return mapping;
  auto& section = unverified_[known.get()];
  if (section == nullptr)
    section = std::make_shared<CodeSection>(known->name(), known->file_offset(), known->bytes(),
                                            known, Verification::kUnverified, known->file_mode(),
                                            known->kallsyms());
  mapping.section = section;
  return mapping;
}

void ImageStore::UseDisk(const CodeSection& section, const ImageFile& file) const {
  const BuildId build_id = file.build_id();
  if (disk_ == nullptr || build_id.empty()) return;
  section.blocks().UseDisk(disk_, build_id.ToHex() + "-" + std::to_string(section.file_offset()) +
                                      "-" + std::to_string(section.bytes().size()));
}

std::vector<std::shared_ptr<const CodeSection>> ImageStore::Sections() const {
  std::vector<std::shared_ptr<const CodeSection>> all;
  for (const auto& [key, section] : sections_) all.push_back(section);
  for (const auto& [verified, section] : unverified_) all.push_back(section);
  return all;
}

}  // namespace flowback
