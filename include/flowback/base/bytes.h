// SPDX-License-Identifier: MIT
// Byte spans and little-endian loads that never read past the end.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

namespace flowback {

using Bytes = std::span<const uint8_t>;

// Little-endian value of `width` (0 to 8) bytes at `data`; the caller has checked the bounds.
inline uint64_t LoadLittleEndian(const uint8_t* data, unsigned width) {
  uint64_t value = 0;
  std::memcpy(&value, data, width);  // little-endian hosts only; checked in base/host.cc
  return value;
}

// The part [offset, offset + size) of `bytes`, cut short at its end; empty when outside.
inline Bytes Slice(Bytes bytes, uint64_t offset, uint64_t size) {
  if (offset >= bytes.size()) return {};
  const uint64_t rest = bytes.size() - offset;
  return bytes.subspan(offset, size < rest ? size : rest);
}

}  // namespace flowback
