// SPDX-License-Identifier: MIT
// Text that inputs name, as a terminal and a reader of lines may see it.
//
// A path, a thread's name or a symbol comes from whoever made the input. Printed as it is, an
// escape sequence in it rules the terminal, and a newline forges a line. So whatever is no text of
// our own passes here on its way to standard output and to stderr:
//
//   \n \r \t           these three
//   \xHH               another control character (below 0x20, 0x7f), or a byte that is no UTF-8
//   \uHHHH             a control character U+0080 to U+009F, a line or paragraph separator, or one
//                      that turns the direction of writing (bidi)
//   \\                 a backslash: what is printed tells exactly which bytes there were
//
// All else stays as it is.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace flowback::cli {

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

void AppendEscaped(std::string& out, std::string_view text, Backslash backslash);

// Eight bytes at a time: false when one of them is not a printable ASCII character other than the
// backslash. May also be false of others' sake, never true wrongly.
inline bool IsPlain(uint64_t eight) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr uint64_t kHighs = 0x80 * kOnes;
  const auto has_zero = [](uint64_t x) { return (x - kOnes) & ~x & kHighs; };
  const uint64_t below_space = (eight - 0x20 * kOnes) & ~eight & kHighs;
  return (eight & kHighs) == 0 && below_space == 0 && has_zero(eight ^ 0x7f * kOnes) == 0 &&
         has_zero(eight ^ 0x5c * kOnes) == 0;
}

// Names are short and nearly always plain, and listings print many.
inline bool IsPlain(std::string_view text) {
  size_t at = 0;
  for (; text.size() - at >= sizeof(uint64_t); at += sizeof(uint64_t)) {
    uint64_t eight = 0;
    std::memcpy(&eight, text.data() + at, sizeof eight);
    if (!IsPlain(eight)) return false;
  }
  for (; at < text.size(); ++at) {
    const auto c = static_cast<uint8_t>(text[at]);
    if (c < 0x20 || c >= 0x7f || c == '\\') return false;
  }
  return true;
}

// Appends a name, as above.
inline void AppendPrintable(std::string& out, std::string_view text) {
  if (IsPlain(text))
    out += text;
  else
    AppendEscaped(out, text, Backslash::kDoubled);
}

std::string Printable(std::string_view text);
// Of a message, or of a line of source text, where a tab stays, too: one line.
std::string PrintableProse(std::string_view text);
std::string PrintableSource(std::string_view text);

}  // namespace flowback::cli
