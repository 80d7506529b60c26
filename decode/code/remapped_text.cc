// SPDX-License-Identifier: MIT
#include "decode/code/remapped_text.h"

#include <algorithm>
#include <utility>

#include "decode/code/images/image_search.h"
#include "decode/code/process_code.h"
#include "flowback/base/bytes.h"

namespace flowback {
namespace {

constexpr uint64_t kTextPage = 4096;
constexpr uint64_t kHugePage = uint64_t{2} << 20;
constexpr std::string_view kKeptCode = ".code";  // of a recorder, for code that is in no file

// The part of `mapping` that lies in [begin, end); the two overlap.
CodeMapping Part(const CodeMapping& mapping, uint64_t begin, uint64_t end) {
  CodeMapping part = mapping;
  part.address = std::max(mapping.address, begin);
  part.size = std::min(mapping.address + mapping.size, end) - part.address;
  part.section_offset += part.address - mapping.address;
  return part;
}

Bytes BytesIn(const CodeMapping& mapping) {
  return Slice(mapping.section->bytes(), mapping.section_offset, mapping.size);
}

// Adds a part, joined with the one before where the two are one.
void Add(std::vector<CodeMapping>& parts, const CodeMapping& part) {
  if (part.size == 0) return;
  if (!parts.empty()) {
    CodeMapping& last = parts.back();
    if (last.section == part.section && last.address + last.size == part.address &&
        last.section_offset + last.size == part.section_offset) {
      last.size += part.size;
      return;
    }
  }
  parts.push_back(part);
}

void AddParts(std::vector<CodeMapping>& parts, const std::vector<CodeMapping>& more) {
  for (const CodeMapping& part : more) Add(parts, part);
}

std::vector<CodeMapping> TextIn(uint64_t address, uint64_t size, const AddressSpace& text) {
  AddressSpace part;
  if (!text.Overlaps(address, size)) return {};
  CopyRange(text, address, size, part);
  return part.mappings();
}

bool HasSameBytes(const CodeMapping& memory, const CodeMapping& text, uint64_t& most) {
  if (most < text.size) return false;
  most -= text.size;
  return std::ranges::equal(BytesIn(Part(memory, text.address, text.address + text.size)),
                            BytesIn(text));
}

// Adds the parts of a page that no file had.
void AddRest(const CodeMapping& page, const std::vector<CodeMapping>& text,
             std::vector<CodeMapping>& own) {
  uint64_t at = page.address;
  for (const CodeMapping& each : text) {
    if (each.address > at) Add(own, Part(page, at, each.address));
    at = each.address + each.size;
  }
  if (const uint64_t end = page.address + page.size; at < end) Add(own, Part(page, at, end));
}

}  // namespace

bool IsMemoryWithoutFile(std::string_view path) {
  return (IsPathless(path) && path != kVdso) || path.ends_with(kKeptCode);
}

bool MayHoldMovedText(std::string_view path) {
  return IsMemoryWithoutFile(path) || WithoutDeleted(path) != path;
}

TextParts CompareWithText(const CodeMapping& memory, const AddressSpace& text, uint64_t& most) {
  TextParts parts;
  const std::vector<CodeMapping> all = TextIn(memory.address, memory.size, text);
  if (all.empty()) {
    parts.own.push_back(memory);
    return parts;
  }
  const uint64_t end = memory.address + memory.size;
  auto first = all.begin();
  for (uint64_t begin = memory.address; begin < end;) {
    const uint64_t next = std::min(end, begin - begin % kTextPage + kTextPage);
    const CodeMapping page = Part(memory, begin, next);
    while (first != all.end() && first->address + first->size <= begin) ++first;
    std::vector<CodeMapping> texts;
    for (auto each = first; each != all.end() && each->address < next; ++each)
      texts.push_back(Part(*each, begin, next));
    if (std::ranges::all_of(
            texts, [&](const CodeMapping& each) { return HasSameBytes(page, each, most); })) {
      AddParts(parts.of_files, texts);
      AddRest(page, texts, parts.own);
    } else {
      AddParts(parts.replaced, texts);
      Add(parts.own, page);
    }
    begin = next;
  }
  return parts;
}

std::vector<CodeMapping> TextThatWasMoved(uint64_t address, uint64_t size,
                                          const AddressSpace& text) {
  std::vector<CodeMapping> parts = TextIn(address, size, text);
  if (parts.empty()) return parts;
  uint64_t at = parts.front().address;
  for (const CodeMapping& part : parts) {
    const bool goes_on =
        part.section->name() == parts.front().section->name() && part.address == at;
    if (!goes_on) return {};
    at = part.address + part.size;
  }
  const bool near = parts.front().address - address < kHugePage && address + size - at < kHugePage;
  return near ? parts : std::vector<CodeMapping>();
}

}  // namespace flowback
