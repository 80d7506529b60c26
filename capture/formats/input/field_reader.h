// SPDX-License-Identifier: MIT
// A cursor over fields of either byte order that can't leave its bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <string>

#include "flowback/base/bytes.h"

namespace flowback {

// Byte order of the machine that wrote the file.
enum class ByteOrder : uint8_t { kLittle, kBig };

// Reading past the end gives zero and makes ok() false for good, so that a caller reads all fields
// of a structure and asks once.
class FieldReader {
 public:
  explicit FieldReader(Bytes bytes, ByteOrder order = ByteOrder::kLittle)
      : bytes_(bytes), order_(order) {}

  bool ok() const { return ok_; }
  uint64_t position() const { return position_; }
  uint64_t remaining() const { return bytes_.size() - position_; }

  uint8_t U8() { return static_cast<uint8_t>(Load<1>()); }
  uint16_t U16() { return static_cast<uint16_t>(Load<2>()); }
  uint32_t U32() { return static_cast<uint32_t>(Load<4>()); }
  [[gnu::always_inline]] uint64_t U64() { return Load<8>(); }
  int32_t I32() { return static_cast<int32_t>(U32()); }

  // Exactly `size` bytes; empty, and ok() false, when there are fewer.
  Bytes Take(uint64_t size) {
    if (size > remaining()) {
      ok_ = false;
      position_ = bytes_.size();
      return {};
    }
    const Bytes part = bytes_.subspan(position_, size);
    position_ += size;
    return part;
  }
  void Skip(uint64_t size) { Take(size); }

 private:
  template <unsigned width>
  [[gnu::always_inline]] uint64_t Load() {
    if (width > remaining()) {
      Skip(width);
      return 0;
    }
    const uint64_t value = LoadLittleEndian(bytes_.data() + position_, width);
    position_ += width;
    return order_ == ByteOrder::kLittle ? value : std::byteswap(value) >> (64 - 8 * width);
  }

  Bytes bytes_;
  ByteOrder order_;
  uint64_t position_ = 0;
  bool ok_ = true;
};

// The characters before the first NUL, or all.
inline std::string TextOf(Bytes bytes) {
  return std::string(bytes.begin(), std::find(bytes.begin(), bytes.end(), uint8_t{0}));
}

}  // namespace flowback
