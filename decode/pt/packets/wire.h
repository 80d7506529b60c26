// SPDX-License-Identifier: MIT
// What every packet shares: how opcodes are told apart, how bytes are read and written.
#pragma once

#include <cstdint>
#include <cstring>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/hex.h"
#include "flowback/base/bytes.h"

namespace flowback::pt {

enum class ReadError : uint8_t {
  kEnd,        // no bytes
  kTruncated,  // the packet goes past the end
  kUnknown,    // no such opcode, or an encoding that the manual reserves
};

// The packet's size in bytes, at least 1.
using ReadResult = std::expected<unsigned, ReadError>;
inline std::unexpected<ReadError> Truncated() { return std::unexpected(ReadError::kTruncated); }
inline std::unexpected<ReadError> Unknown() { return std::unexpected(ReadError::kUnknown); }

// Whether a PEBS block is open, and how large its items are. Inside one, a byte that ends in 100b
// begins a BIP packet; elsewhere it is a short TNT.
struct PebsState {
  uint8_t item_bytes = 0;  // 0: not between BBP and BEP; else 4 or 8
};

// Which byte of a packet determines its kind, after which prefix.
enum class Page : uint8_t {
  kFirst,     // the first byte
  kExtended,  // the byte after 02
  kThird,     // the byte after 02 c3
  kMode,      // the byte after 99
  kBlock,     // the first byte, inside a PEBS block only
};
inline constexpr unsigned kPages = 5;
inline constexpr uint8_t kExtendedPrefix = 0x02;
inline constexpr uint8_t kThirdPrefix = 0xc3;  // after kExtendedPrefix
inline constexpr uint8_t kModePrefix = 0x99;

// The bytes that mean one packet kind: (byte & mask) == value, and not below `at_least`.
struct Opcode {
  Page page = Page::kFirst;
  uint8_t value = 0;
  uint8_t mask = 0xff;
  uint8_t at_least = 0;

  constexpr bool Matches(uint8_t byte) const { return (byte & mask) == value && byte >= at_least; }
};

// `width` (0 to 8) little-endian bytes at `at[offset]`; the caller has checked the bounds.
inline uint64_t Load(Bytes at, unsigned offset, unsigned width) {
  if (width == 8 || at.size() < offset + 8) return LoadLittleEndian(at.data() + offset, width);
  // One load of fixed size and a mask beat a copy of variable size.
  return LoadLittleEndian(at.data() + offset, 8) & ((uint64_t{1} << (8 * width)) - 1);
}

// Appends packets' bytes.
class ByteSink {
 public:
  explicit ByteSink(std::vector<uint8_t>& out) : out_(out) {}

  void Put(uint8_t byte) { out_.push_back(byte); }
  void Put(uint8_t first, uint8_t second) {
    out_.push_back(first);
    out_.push_back(second);
  }
  // The low `width` (0 to 8) bytes of `value`, lowest first.
  void Little(uint64_t value, unsigned width) {
    for (unsigned i = 0; i < width; ++i) out_.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }

 private:
  std::vector<uint8_t>& out_;
};

}  // namespace flowback::pt
