// SPDX-License-Identifier: MIT
// How gdb's remote protocol frames its packets: $content#checksum, with escapes in the content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace flowback::gdb {

// A packet's content is at most as long.
inline constexpr size_t kMostPacketBytes = size_t{256} << 10;

// One thing that the client sent.
struct Received {
  enum class Kind : uint8_t {
    kPacket,
    kInterrupt,    // Ctrl-C
    kAgain,        // it did not understand the last packet
    kBadChecksum,  // or a damaged packet
    kTooLong,      // a packet of more than kMostPacketBytes; all of it has been read
  };
  Kind kind{};
  std::string packet{};  // the content, without escapes
};

// Takes bytes as they come and gives what they make up. Bytes outside of packets are left out.
class GdbPacketReader {
 public:
  void Add(std::string_view bytes) { bytes_ += bytes; }
  // Empty: more bytes are needed.
  std::optional<Received> Next();
  // Bytes that wait.
  size_t size() const { return bytes_.size(); }
  // Whether Ctrl-C lies among the bytes that wait, outside of packets.
  bool HasInterrupt() const;
  void set_checks(bool checks) { checks_ = checks; }

 private:
  std::optional<Received> ReadPacket();

  std::string bytes_;
  bool checks_ = true;     // the checksum counts
  bool skipping_ = false;  // a packet that was too long
};

// The packet with that content, escaped, with runs of a byte shortened.
std::string Framed(std::string_view content);
// The content of binary data in a packet.
std::string Escaped(std::string_view bytes);

std::string HexOf(std::string_view bytes);
// The lowest byte first, `size` of them.
std::string HexOfNumber(uint64_t value, size_t size);
// Empty: these are no pairs of hexadecimal digits.
std::optional<std::string> BytesOfHex(std::string_view hex);
// Takes a hexadecimal number from the front of the text. Empty: no number stands there, or it has
// more than 64 bits.
std::optional<uint64_t> TakeHex(std::string_view& text);
// Takes `word` from the front of the text, if it begins so.
bool TakeWord(std::string_view& text, std::string_view word);

}  // namespace flowback::gdb
