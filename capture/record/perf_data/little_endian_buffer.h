// SPDX-License-Identifier: MIT
// Builds little-endian binary records.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "flowback/base/bytes.h"

namespace flowback::record {

class LittleEndianBuffer {
 public:
  void U8(uint8_t value) { bytes_.push_back(value); }
  void U16(uint16_t value) { Put(value); }
  void U32(uint32_t value) { Put(value); }
  void U64(uint64_t value) { Put(value); }
  void Append(Bytes bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void Zeros(size_t count) { bytes_.resize(bytes_.size() + count); }
  // The text, a terminating zero, and zeros up to a multiple of `unit` bytes in all.
  void Text(std::string_view text, size_t unit) {
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    Zeros(unit - text.size() % unit);
  }
  void SetU16(size_t at, uint16_t value) { std::memcpy(bytes_.data() + at, &value, sizeof value); }
  void SetU64(size_t at, uint64_t value) { std::memcpy(bytes_.data() + at, &value, sizeof value); }

  size_t size() const { return bytes_.size(); }
  Bytes bytes() const { return bytes_; }

 private:
  template <class T>
  void Put(T value) {
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }

  std::vector<uint8_t> bytes_;
};

}  // namespace flowback::record
