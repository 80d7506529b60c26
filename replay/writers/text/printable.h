// SPDX-License-Identifier: MIT
// Text that inputs name, as a terminal and a reader of lines may see it.
//
// A path, a thread's name or a symbol comes from the author of the input. Printed as it is, an
// escape sequence in it rules the terminal, and a newline forges a line. So all text that is not
// our own passes here on its way to standard output and to stderr:
//
//   \n \r \t           these three
//   \xHH               another control character (below 0x20, 0x7f), or a byte that is no UTF-8
//   \uHHHH             a control character U+0080 to U+009F, a line or paragraph separator, one
//   that
//                      turns the direction of writing (bidi), or U+FFFE and U+FFFF, which XML lacks
//   \\                 a backslash: what is printed tells exactly which bytes there were
//
// All else stays as it is.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace flowback {

// What becomes of a backslash: in prose, as messages are, it stays, so that commands and source
// text in it can be copied.
enum class Backslash : uint8_t { kDoubled, kAsItIs };

// A character of UTF-8 text, or a byte that is none.
struct TextUnit {
  uint32_t code = 0;    // the character; the byte where `valid` is false
  uint32_t length = 0;  // in bytes, at least 1
  bool valid = false;
};
// REQUIRES: `text` is not empty.
TextUnit FirstUnit(std::string_view text);

// True of characters that no text of a listing holds as they are. `code` of a valid unit.
bool IsControl(uint32_t code);

// Appends a unit as the table above writes it.
void AppendUnit(std::string& out, const TextUnit& unit);
void AppendEscaped(std::string& out, std::string_view text, Backslash backslash);

// Whether all eight bytes are printable ASCII characters, and none a backslash. Where none has its
// highest bit set, each sum below sets it for a byte that is not: under a space, 0x7f, '\\'.
inline bool IsPlain(uint64_t eight) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  const uint64_t bad =
      eight | (eight - 0x20 * kOnes) | (eight + kOnes) | ((eight ^ '\\' * kOnes) - kOnes);
  return (bad & 0x80 * kOnes) == 0;
}

// Names are short and nearly always plain, and listings print many.
inline bool IsPlain(std::string_view text) {
  constexpr size_t kStep = sizeof(uint64_t);
  const auto eight = [&](size_t at) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, text.data() + at, sizeof bytes);
    return bytes;
  };
  if (text.size() < kStep) {
    for (const char c : text)
      if (static_cast<uint8_t>(c - 0x20) >= 0x7f - 0x20 || c == '\\') return false;
    return true;
  }
  for (size_t at = 0; at + kStep <= text.size(); at += kStep)
    if (!IsPlain(eight(at))) return false;
  return IsPlain(eight(text.size() - kStep));
}

// Appends a name, as above.
inline void AppendPrintable(std::string& out, std::string_view text) {
  if (IsPlain(text))
    out += text;
  else
    AppendEscaped(out, text, Backslash::kDoubled);
}

std::string Printable(std::string_view text);
// Makes one line of a message, or of source text, where tabs stay.
std::string PrintableProse(std::string_view text);
std::string PrintableSource(std::string_view text);

}  // namespace flowback
