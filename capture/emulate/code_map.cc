// SPDX-License-Identifier: MIT
#include "capture/emulate/code_map.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/mapped_file.h"
#include "capture/record/emulate/mapped_file_text.h"
#include "capture/record/image/elf_tables.h"
#include "capture/record/target/process_maps.h"

namespace flowback::emulate {
namespace {

// A deleted file, or one that never had a path, is found only through the kernel's list of
// mappings, which requires a privilege. If the file is no program but memory, its bytes change.
// Else its code counts as code in no file.
bool CanBeFound(const record::ExecutableMapping& mapping) {
  char name[64];
  std::snprintf(name, sizeof name, "/proc/self/map_files/%" PRIx64 "-%" PRIx64, mapping.begin,
                mapping.end);
  const Descriptor file(open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  char magic[4] = {};
  return *file >= 0 && pread(*file, magic, sizeof magic, 0) == sizeof magic &&
         std::memcmp(magic, "\177ELF", sizeof magic) == 0;
}

// The emulator keeps the program's code readable only; pieces of one file that lie behind each
// other there and here are one mapping to the program.
std::vector<CodeRange> ReadMappings(uint64_t base, bool files_are_kept) {
  std::vector<CodeRange> result;
  for (const auto& mapping : record::ReadMappings(getpid())) {
    CodeRange range{mapping.begin - base,
                    mapping.end - base,
                    mapping.file_offset,
                    "",
                    "",
                    mapping.identity.substr(mapping.identity.find(' ') + 1),
                    mapping.shared};
    const bool found = !mapping.deleted || (files_are_kept && CanBeFound(mapping));
    if (mapping.has_file && found) range.path = mapping.path;
    if (mapping.has_file && found && files_are_kept)
      range.file = record::MappedFileText::Of(mapping).Text();
    const bool goes_on = !result.empty() && result.back().end == range.begin &&
                         result.back().path == range.path && result.back().inode == range.inode &&
                         result.back().shared == range.shared &&
                         (range.path.empty() ||
                          result.back().file_offset + (result.back().end - result.back().begin) ==
                              range.file_offset);
    if (goes_on)
      result.back().end = range.end;
    else
      result.push_back(std::move(range));
  }
  return result;
}

CodeRange Clipped(CodeRange range, uint64_t begin, uint64_t end) {
  if (range.begin < begin) {
    if (!range.path.empty()) range.file_offset += begin - range.begin;
    range.begin = begin;
  }
  range.end = std::min(range.end, end);
  return range;
}

// Returns the part of a mapping around `address` that the kernel would have made executable: one
// segment of the file. The emulator loads a program with all its segments readable, so they look
// like one. All of it where the file is no program, or has no segment there.
CodeRange SegmentAt(const CodeRange& mapping, uint64_t address) {
  constexpr uint64_t kPage = 4096;
  if (mapping.path.empty()) return mapping;
  const auto file = MappedFile::Open(mapping.path);
  if (!file) return mapping;
  const record::ElfTables tables((*file)->bytes());
  for (const Elf64_Phdr& segment : tables.segments()) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const uint64_t first = segment.p_offset / kPage * kPage;
    const uint64_t size = (segment.p_offset - first + segment.p_filesz + kPage - 1) / kPage * kPage;
    const uint64_t begin = mapping.begin + (first - mapping.file_offset);
    if (first < mapping.file_offset || address < begin || address - begin >= size) continue;
    return Clipped(mapping, begin, begin + size);
  }
  return mapping;
}

}  // namespace

const CodeRange* CodeMap::Find(uint64_t address) const {
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return nullptr;
  const CodeRange& range = std::prev(after)->second;
  return address < range.end ? &range : nullptr;
}

bool CodeMap::InNoFile(uint64_t address) const {
  const CodeRange* range = Find(address);
  return range != nullptr && range->path.empty();
}

bool CodeMap::IsShared(uint64_t address) const {
  const CodeRange* range = Find(address);
  return range != nullptr && range->shared;
}

void CodeMap::Add(CodeRange range, const Announce& announce) {
  if (range.begin >= range.end) return;
  if (const CodeRange* known = Find(range.begin);
      known != nullptr && known->end >= range.end && known->path == range.path &&
      known->shared == range.shared &&
      (range.path.empty() ||
       known->file_offset + (range.begin - known->begin) == range.file_offset))
    return;
  Forget(range.begin, range.end);
  announce(range);
  inodes_.insert(range.inode);
  ranges_[range.begin] = std::move(range);
}

void CodeMap::Learn(uint64_t begin, uint64_t end, uint64_t base, const Announce& announce) {
  for (const CodeRange& mapping : ReadMappings(base, files_are_kept_))
    Add(Clipped(mapping, begin, end), announce);
}

void CodeMap::LearnAt(uint64_t address, uint64_t base, const Announce& announce) {
  for (const CodeRange& mapping : ReadMappings(base, files_are_kept_))
    if (address >= mapping.begin && address < mapping.end)
      Add(SegmentAt(mapping, address), announce);
}

void CodeMap::Forget(uint64_t begin, uint64_t end) {
  auto it = ranges_.upper_bound(begin);
  if (it != ranges_.begin()) --it;
  while (it != ranges_.end() && it->first < end) {
    CodeRange old = it->second;
    if (old.end <= begin) {
      ++it;
      continue;
    }
    it = ranges_.erase(it);
    if (old.begin < begin) ranges_[old.begin] = Clipped(old, old.begin, begin);
    if (old.end > end) {
      ranges_[end] = Clipped(old, end, old.end);
      break;
    }
  }
}

}  // namespace flowback::emulate
