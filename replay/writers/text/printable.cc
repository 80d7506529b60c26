// SPDX-License-Identifier: MIT
#include "replay/writers/text/printable.h"

#include <fmt/format.h>

#include <iterator>

namespace flowback {
namespace {

// Length of the UTF-8 sequence that begins with a byte, by that byte; 0: none does.
uint32_t LengthFrom(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  return lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
}

// Overlong forms, surrogates and what lies beyond U+10FFFF are none.
bool IsCharacter(uint32_t code, uint32_t length) {
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  return code >= kLeast[length] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

}  // namespace

TextUnit FirstUnit(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const TextUnit invalid{.code = byte(0), .length = 1, .valid = false};
  const uint32_t length = LengthFrom(byte(0));
  if (length == 1) return {.code = byte(0), .length = 1, .valid = true};
  if (length == 0 || text.size() < length) return invalid;
  uint32_t code = byte(0) & (0x7fU >> length);
  for (uint32_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return invalid;
    code = code << 6 | (byte(i) & 0x3fU);
  }
  if (!IsCharacter(code, length)) return invalid;
  return {.code = code, .length = length, .valid = true};
}

bool IsControl(uint32_t code) {
  if (code < 0xa0) return code < 0x20 || code >= 0x7f;
  // Marks, embeddings, overrides and isolates of direction, the separators, and two numbers that
  // are no characters, which no document of XML may hold.
  return code == 0xfffe || code == 0xffff || code == 0x61c || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

void AppendUnit(std::string& out, const TextUnit& unit) {
  auto to = std::back_inserter(out);
  if (unit.code == '\n')
    out += "\\n";
  else if (unit.code == '\r')
    out += "\\r";
  else if (unit.code == '\t')
    out += "\\t";
  else if (unit.valid && unit.code >= 0x80)
    fmt::format_to(to, "\\u{:04x}", unit.code);
  else
    fmt::format_to(to, "\\x{:02x}", unit.code);
}

void AppendEscaped(std::string& out, std::string_view text, Backslash backslash) {
  while (!text.empty()) {
    const TextUnit unit = FirstUnit(text);
    if (unit.code == '\\' && backslash == Backslash::kDoubled)
      out += "\\\\";
    else if (!unit.valid || IsControl(unit.code))
      AppendUnit(out, unit);
    else
      out += text.substr(0, unit.length);
    text.remove_prefix(unit.length);
  }
}

std::string Printable(std::string_view text) {
  std::string out;
  AppendPrintable(out, text);
  return out;
}

std::string PrintableProse(std::string_view text) {
  std::string out;
  AppendEscaped(out, text, Backslash::kAsItIs);
  return out;
}

std::string PrintableSource(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t tab = text.find('\t');
    AppendEscaped(out, text.substr(0, tab), Backslash::kAsItIs);
    if (tab == std::string_view::npos) break;
    out += '\t';
    text.remove_prefix(tab + 1);
  }
  return out;
}

}  // namespace flowback
