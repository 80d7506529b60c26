// SPDX-License-Identifier: MIT
#include "replay/debug/values/image_memory.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/mapped_file.h"

namespace flowback {
namespace {

constexpr uint32_t kLoad = 1;
constexpr uint32_t kDynamic = 2;
constexpr uint32_t kInterpreter = 3;
constexpr uint32_t kExecutable = 1;
constexpr uint32_t kWritable = 2;
constexpr uint16_t kExecutableFile = 2;   // ET_EXEC
constexpr uint64_t kFlags1 = 0x6ffffffb;  // DT_FLAGS_1
constexpr uint64_t kPie = 0x08000000;     // DF_1_PIE

// Numbers of the file, little-endian as all recorded machines are; 0 behind its end.
class ElfNumbers {
 public:
  ElfNumbers(Bytes bytes, bool is_64) : bytes_(bytes), is_64_(is_64) {}

  uint64_t At(uint64_t offset, size_t size) const {
    if (offset > bytes_.size() || bytes_.size() - offset < size) return 0;
    uint64_t value = 0;
    std::memcpy(&value, bytes_.data() + offset, size);
    return value;
  }
  uint64_t Word(uint64_t offset) const { return At(offset, word()); }
  size_t word() const { return is_64_ ? 8 : 4; }

 private:
  Bytes bytes_;
  bool is_64_;
};

struct ProgramHeader {
  uint32_t type = 0;
  uint32_t flags = 0;
  ImageSegment segment;
};

ProgramHeader HeaderAt(const ElfNumbers& numbers, uint64_t at, bool is_64) {
  ProgramHeader header;
  header.type = static_cast<uint32_t>(numbers.At(at, 4));
  header.flags = static_cast<uint32_t>(numbers.At(at + (is_64 ? 4 : 24), 4));
  header.segment = {.address = numbers.Word(at + 8),
                    .file_offset = numbers.Word(at + (is_64 ? 8 : 4)),
                    .size = numbers.Word(at + (is_64 ? 32 : 16)),
                    .memory_size = numbers.Word(at + (is_64 ? 40 : 20)),
                    .writable = (header.flags & kWritable) != 0,
                    .executable = (header.flags & kExecutable) != 0};
  if (is_64) header.segment.address = numbers.Word(at + 16);
  return header;
}

bool SaysPie(const ElfNumbers& numbers, const ImageSegment& dynamic) {
  const size_t entry = 2 * numbers.word();
  for (uint64_t at = 0; at + entry <= dynamic.size; at += entry) {
    const uint64_t tag = numbers.Word(dynamic.file_offset + at);
    if (tag == 0) return false;
    if (tag == kFlags1)
      return (numbers.Word(dynamic.file_offset + at + numbers.word()) & kPie) != 0;
  }
  return false;
}

std::string TextAt(Bytes bytes, const ImageSegment& segment) {
  if (segment.file_offset > bytes.size()) return {};
  const Bytes text = bytes.subspan(
      segment.file_offset, std::min<uint64_t>(segment.size, bytes.size() - segment.file_offset));
  const auto end = std::ranges::find(text, 0);
  return {text.begin(), end};
}

std::optional<uint64_t> BiasOf(const CodeMapping& mapping, const ImageLayout& layout) {
  const uint64_t offset = mapping.section->file_offset() + mapping.section_offset;
  std::optional<uint64_t> bias;
  for (const ImageSegment& segment : layout.segments) {
    // A mapping begins at a page, which may lie before the segment's first byte.
    constexpr uint64_t kPage = 4096;
    const uint64_t begin = segment.file_offset / kPage * kPage;
    if (offset < begin || offset >= segment.file_offset + segment.size) continue;
    if (bias && !segment.executable) continue;
    bias = mapping.address - (segment.address + offset - segment.file_offset);
  }
  return bias;
}

// As much of the segment as the file has.
ImageSegment Within(Bytes file, ImageSegment segment) {
  const uint64_t left = file.size() - std::min<uint64_t>(segment.file_offset, file.size());
  segment.size = std::min(segment.size, left);
  return segment;
}

// A file is mapped in whole pages: behind a segment comes what the file has there, unless the
// segment has more bytes in memory than in the file.
uint64_t SizeInMemory(const ImageSegment& segment) {
  constexpr uint64_t kPage = 4096;
  if (segment.memory_size != segment.size) return segment.size;
  return (segment.address + segment.size + kPage - 1) / kPage * kPage - segment.address;
}

}  // namespace

ImageLayout ReadLayout(Bytes file) {
  ImageLayout layout;
  constexpr uint8_t kMagic[] = {0x7f, 'E', 'L', 'F'};
  constexpr size_t kHeader = 64;
  constexpr uint8_t kLittleEndian = 1;
  if (file.size() < kHeader || std::memcmp(file.data(), kMagic, sizeof kMagic) != 0 ||
      file[5] != kLittleEndian)
    return layout;
  layout.is_64 = file[4] == 2;
  const ElfNumbers numbers(file, layout.is_64);
  layout.entry = numbers.Word(24);
  const uint64_t table = numbers.Word(layout.is_64 ? 32 : 28);
  layout.header_size = static_cast<uint16_t>(numbers.At(layout.is_64 ? 54 : 42, 2));
  layout.header_count = static_cast<uint16_t>(numbers.At(layout.is_64 ? 56 : 44, 2));
  // What a file says of itself need not be so.
  if (layout.header_size != (layout.is_64 ? 56 : 32)) layout.header_count = 0;
  std::optional<ImageSegment> dynamic;
  for (uint64_t i = 0; i < layout.header_count; ++i) {
    const ProgramHeader header = HeaderAt(numbers, table + i * layout.header_size, layout.is_64);
    if (header.type == kLoad) layout.segments.push_back(Within(file, header.segment));
    if (header.type == kDynamic) dynamic = header.segment;
    if (header.type == kInterpreter && layout.interpreter.empty())
      layout.interpreter = TextAt(file, header.segment);
  }
  if (dynamic) layout.dynamic = dynamic->address;
  layout.is_program =
      numbers.At(16, 2) == kExecutableFile || (dynamic && SaysPie(numbers, *dynamic));
  for (const ImageSegment& segment : layout.segments)
    if (table - segment.file_offset < segment.size)
      layout.headers = segment.address + table - segment.file_offset;
  return layout;
}

const ImageMemory::File& ImageMemory::FileAt(const std::string& path) {
  const auto [at, is_new] = files_.try_emplace(path);
  if (!is_new) return at->second;
  if (auto mapped = MappedFile::Open(path)) {
    at->second.mapped = *std::move(mapped);
    at->second.layout = ReadLayout(at->second.mapped->bytes());
  }
  return at->second;
}

std::vector<LoadedImage> ImageMemory::ImagesOf(const AddressSpace& space) {
  if (&space == space_) return images_;
  images_.clear();
  for (const CodeMapping& mapping : space.mappings()) {
    const std::string& name = mapping.section->name();
    if (!mapping.section->file_mode() || !mapping.section->kallsyms().empty()) continue;
    const File& file = FileAt(name);
    const auto bias = BiasOf(mapping, file.layout);
    if (!bias) continue;
    const bool is_known = std::ranges::any_of(images_, [&](const LoadedImage& image) {
      return image.file == name && image.bias == *bias;
    });
    if (is_known) continue;
    images_.push_back({.file = name, .bias = *bias, .mapped = file.mapped, .layout = &file.layout});
  }
  space_ = &space;
  return images_;
}

size_t ImageMemory::Read(const AddressSpace& space, uint64_t address, std::span<uint8_t> bytes) {
  for (const LoadedImage& image : ImagesOf(space)) {
    const Bytes file = image.mapped->bytes();
    for (const ImageSegment& segment : image.layout->segments) {
      const uint64_t within = address - (segment.address + image.bias);
      const uint64_t in_memory = SizeInMemory(segment);
      if (segment.writable || within >= in_memory) continue;
      const uint64_t offset = segment.file_offset + within;
      if (offset >= file.size()) continue;
      const size_t size =
          std::min<uint64_t>({bytes.size(), in_memory - within, file.size() - offset});
      std::memcpy(bytes.data(), file.data() + offset, size);
      return size;
    }
  }
  return 0;
}

}  // namespace flowback
