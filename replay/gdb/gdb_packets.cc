// SPDX-License-Identifier: MIT
#include "replay/gdb/gdb_packets.h"

#include <algorithm>

namespace flowback::gdb {
namespace {

constexpr char kInterruptByte = '\x03';
constexpr char kEscape = '}';
constexpr char kEscapeBit = 0x20;

int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

char DigitFor(unsigned value) { return "0123456789abcdef"[value & 15]; }

uint8_t SumOf(std::string_view content) {
  uint8_t sum = 0;
  for (const char c : content) sum = static_cast<uint8_t>(sum + static_cast<uint8_t>(c));
  return sum;
}

bool NeedsEscape(char c) { return c == '$' || c == '#' || c == kEscape || c == '*'; }

std::string Unescaped(std::string_view content) {
  std::string bytes;
  bytes.reserve(content.size());
  for (size_t i = 0; i < content.size(); ++i) {
    const bool is_escape = content[i] == kEscape && i + 1 < content.size();
    bytes += is_escape ? static_cast<char>(content[++i] ^ kEscapeBit) : content[i];
  }
  return bytes;
}

// How often the byte may stand behind itself as one character: 3 to 97 times, but for counts whose
// character means something else.
size_t ShortenedRun(size_t more) {
  constexpr size_t kFewest = 3;
  constexpr size_t kMost = 97;
  size_t run = std::min(more, kMost);
  if (run < kFewest) return 0;
  while (run >= kFewest &&
         (run + 29 == '#' || run + 29 == '$' || run + 29 == '+' || run + 29 == '-'))
    --run;
  return run < kFewest ? 0 : run;
}

// No escape may be a part of a run, since the character behind it belongs to it.
std::string Shortened(std::string_view content) {
  std::string out;
  out.reserve(content.size());
  for (size_t i = 0; i < content.size();) {
    out += content[i];
    if (content[i] == kEscape) {
      if (i + 1 < content.size()) out += content[i + 1];
      i += 2;
      continue;
    }
    size_t end = i + 1;
    while (end < content.size() && content[end] == content[i]) ++end;
    const size_t run = ShortenedRun(end - i - 1);
    if (run != 0) {
      out += '*';
      out += static_cast<char>(run + 29);
    }
    i += 1 + run;
  }
  return out;
}

}  // namespace

std::optional<Received> GdbPacketReader::Next() {
  if (!skipping_) bytes_.erase(0, bytes_.find_first_of("$-\x03"));
  if (bytes_.empty()) return std::nullopt;
  if (skipping_ || bytes_.front() == '$') return ReadPacket();
  const char first = bytes_.front();
  bytes_.erase(0, 1);
  return Received{first == kInterruptByte ? Received::Kind::kInterrupt : Received::Kind::kAgain};
}

bool GdbPacketReader::HasInterrupt() const {
  return std::string_view(bytes_).substr(0, bytes_.find('$')).contains(kInterruptByte);
}

std::optional<Received> GdbPacketReader::ReadPacket() {
  const size_t end = bytes_.find('#');
  if (end == std::string::npos) {
    if (bytes_.size() > kMostPacketBytes) {
      skipping_ = true;
      bytes_.clear();
    }
    return std::nullopt;
  }
  if (bytes_.size() < end + 3) return std::nullopt;
  const size_t begin = skipping_ ? 0 : 1;
  const std::string content = bytes_.substr(begin, end - begin);
  const int high = DigitOf(bytes_[end + 1]);
  const int low = DigitOf(bytes_[end + 2]);
  bytes_.erase(0, end + 3);
  if (skipping_ || content.size() > kMostPacketBytes) {
    skipping_ = false;
    return Received{Received::Kind::kTooLong};
  }
  const bool fits = high >= 0 && low >= 0 && high * 16 + low == SumOf(content);
  if (checks_ && !fits) return Received{Received::Kind::kBadChecksum};
  return Received{Received::Kind::kPacket, Unescaped(content)};
}

std::string Escaped(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (const char c : bytes) {
    if (NeedsEscape(c)) {
      out += kEscape;
      out += static_cast<char>(c ^ kEscapeBit);
    } else {
      out += c;
    }
  }
  return out;
}

std::string Framed(std::string_view content) {
  const std::string text = Shortened(content);
  const uint8_t sum = SumOf(text);
  return "$" + text + "#" + DigitFor(sum >> 4) + DigitFor(sum);
}

std::string HexOf(std::string_view bytes) {
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const char c : bytes) {
    hex += DigitFor(static_cast<uint8_t>(c) >> 4);
    hex += DigitFor(static_cast<uint8_t>(c));
  }
  return hex;
}

std::string HexOfNumber(uint64_t value, size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) {
    bytes += i < sizeof value ? static_cast<char>(value) : '\0';
    value = i + 1 < sizeof value ? value >> 8 : 0;
  }
  return HexOf(bytes);
}

std::optional<std::string> BytesOfHex(std::string_view hex) {
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    const int high = DigitOf(hex[i]);
    const int low = DigitOf(hex[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

std::optional<uint64_t> TakeHex(std::string_view& text) {
  size_t digits = 0;
  uint64_t value = 0;
  while (digits < text.size() && DigitOf(text[digits]) >= 0) {
    if (value >> 60 != 0) return std::nullopt;
    value = value << 4 | static_cast<uint64_t>(DigitOf(text[digits++]));
  }
  if (digits == 0) return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

bool TakeWord(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

}  // namespace flowback::gdb
