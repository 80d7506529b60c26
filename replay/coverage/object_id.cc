// SPDX-License-Identifier: MIT
#include "replay/coverage/object_id.h"

#include <array>
#include <cstring>

#include "decode/code/images/kept_images.h"

namespace flowback {
namespace {

uint64_t NotZero(uint64_t hash) { return hash == 0 ? 1 : hash; }

}  // namespace

uint64_t CodeChecksum(Bytes code) { return NotZero(ImageHash::Of(code)); }

uint64_t CodeChecksum(const ElfFile& elf, Bytes file) {
  ImageHash hash;
  for (const ElfSegment& segment : elf.code) {
    // Where it lies in the file is a part of what it is: counts are by offset.
    std::array<uint8_t, 16> place{};
    std::memcpy(place.data(), &segment.file_offset, 8);
    std::memcpy(place.data() + 8, &segment.size, 8);
    hash.Add(place);
    hash.Add(Slice(file, segment.file_offset, segment.size));
  }
  return NotZero(hash.Finish());
}

// The path tells objects apart only where nothing else is known of them. So one object has one id
// wherever it was installed, and an order that does not change when its path does.
std::strong_ordering ObjectId::Compare(const ObjectId& other) const {
  if (const auto by = made_at_run_time <=> other.made_at_run_time; by != 0) return by;
  if (const auto by = build_id.bytes <=> other.build_id.bytes; by != 0) return by;
  if (!build_id.empty() && !made_at_run_time) return std::strong_ordering::equal;
  if (const auto by = checksum <=> other.checksum; by != 0) return by;
  return checksum != 0 ? std::strong_ordering::equal : path <=> other.path;
}

bool ObjectId::SameObject(const ObjectId& other) const { return Compare(other) == 0; }

}  // namespace flowback
