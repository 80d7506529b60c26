// SPDX-License-Identifier: MIT
// Numbers and addresses as DWARF and .eh_frame encode them.
#pragma once

#include <cstdint>
#include <string>

#include "flowback/base/bytes.h"

namespace flowback::symbols {

// The encoding of a value that the table leaves out.
inline constexpr uint8_t kOmitted = 0xff;

// Values one behind the other. Behind the end all are 0, and `ok` is false.
class EncodedValues {
 public:
  // `address`: of the first byte, as linked.
  EncodedValues(Bytes bytes, uint64_t address, unsigned address_bytes)
      : bytes_(bytes), address_(address), address_bytes_(address_bytes) {}

  bool ok() const { return ok_; }
  size_t at() const { return at_; }
  bool at_end() const { return at_ == bytes_.size(); }
  Bytes rest() const { return bytes_.subspan(at_); }
  unsigned address_bytes() const { return address_bytes_; }

  uint64_t Fixed(unsigned width) {
    if (bytes_.size() - at_ < width) return Bad();
    const uint64_t value = LoadLittleEndian(bytes_.data() + at_, width);
    at_ += width;
    return value;
  }
  uint64_t Signed(unsigned width) {
    const uint64_t value = Fixed(width);
    const unsigned unused = 64 - 8 * width;
    return static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused);
  }
  uint64_t Leb(bool is_signed = false) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      const uint64_t byte = Fixed(1);
      if (shift < 64) value |= (byte & 0x7f) << shift;
      if ((byte & 0x80) != 0) continue;
      if (is_signed && (byte & 0x40) != 0 && shift + 7 < 64) value |= ~uint64_t{0} << (shift + 7);
      return value;
    }
    return Bad();
  }
  std::string Text() {
    std::string text;
    for (uint64_t byte = Fixed(1); byte != 0; byte = Fixed(1)) text += static_cast<char>(byte);
    return text;
  }
  // Takes `count` bytes; empty: fewer are left.
  Bytes Take(uint64_t count) {
    const Bytes taken = Slice(bytes_, at_, count);
    Skip(count);
    return ok_ ? taken : Bytes();
  }
  void Skip(uint64_t count) {
    if (bytes_.size() - at_ < count)
      Bad();
    else
      at_ += count;
  }
  // A pointer in one of DWARF's encodings. 0 if the value is 0, even for relative encodings.
  uint64_t Pointer(uint8_t encoding) {
    const uint64_t own = address_ + at_;
    const uint64_t value = Value(encoding & 0x0f);
    const uint8_t base = encoding & 0x70;
    if (base != 0 && base != 0x10) return Bad();
    return value == 0 || base == 0 ? value : value + own;
  }
  uint64_t Value(uint8_t form) {
    switch (form) {
      case 0x0:
        return Fixed(address_bytes_);
      case 0x1:
        return Leb();
      case 0x2:
      case 0x3:
      case 0x4:
        return Fixed(1U << (form - 1));
      case 0x9:
        return Leb(true);
      case 0xa:
      case 0xb:
      case 0xc:
        return Signed(1U << (form - 9));
      default:
        return Bad();
    }
  }

 private:
  uint64_t Bad() {
    ok_ = false;
    at_ = bytes_.size();
    return 0;
  }

  Bytes bytes_;
  uint64_t address_;
  unsigned address_bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace flowback::symbols
