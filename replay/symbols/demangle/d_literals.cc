// SPDX-License-Identifier: MIT
#include "replay/symbols/demangle/d_literals.h"

#include <charconv>

namespace flowback::symbols {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

// "'a'"; of letters that cannot be shown, and those beyond ASCII, the number.
bool Letter(char kind, std::string_view digits, std::string& out) {
  uint64_t value = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc())
    return false;
  out += "'";
  if (value >= ' ' && value < 0x7f) {
    out += static_cast<char>(value);
  } else {
    out += kind == 'a' ? "\\x" : kind == 'u' ? "\\u" : "\\U";
    for (int shift = kind == 'a' ? 4 : kind == 'u' ? 12 : 28; shift >= 0; shift -= 4)
      out += kHexDigits[value >> shift & 15];
  }
  out += "'";
  return true;
}

void AddLetter(unsigned char letter, std::string& out) {
  constexpr std::string_view kCodes = "tnvfr";  // from 9 on
  if (letter >= ' ' && letter != 0x7f) {
    out += static_cast<char>(letter);
    return;
  }
  out += '\\';
  if (letter >= '\t' && letter <= '\r') {
    out += kCodes[letter - '\t'];
    return;
  }
  out += 'x';
  out += kHexDigits[letter / 16];
  out += kHexDigits[letter % 16];
}

}  // namespace

bool ReadInteger(DScanner& in, char kind, std::string_view sign, std::string& out) {
  const size_t begin = in.at_;
  while (IsDecimal(in.Peek())) ++in.at_;
  const std::string_view digits = in.text_.substr(begin, in.at_ - begin);
  if (digits.empty()) return false;
  if (kind == 'b') {
    out += digits == "0" ? "false" : "true";
    return true;
  }
  if (kind != '\0' && std::string_view("auw").contains(kind)) return Letter(kind, digits, out);
  out += sign;
  out += digits;
  if (std::string_view("htk").contains(kind)) out += 'u';
  if (kind == 'l') out += 'L';
  if (kind == 'm') out += "uL";
  return true;
}

bool ReadReal(DScanner& in, std::string& out) {
  for (const std::string_view word : {"NAN", "INF", "NINF"})
    if (in.text_.substr(in.at_).starts_with(word)) {
      in.at_ += word.size();
      out += word;
      return true;
    }
  if (in.Take('N')) out += '-';
  const size_t begin = in.at_;
  while (IsDecimal(in.Peek()) || (in.Peek() >= 'A' && in.Peek() <= 'F')) ++in.at_;
  if (in.at_ == begin || !in.Take('P')) return false;
  const std::string_view digits = in.text_.substr(begin, in.at_ - begin - 1);
  out += "0x";
  out += digits.front();
  out += '.';
  out += digits.substr(1);
  out += 'p';
  if (in.Take('N')) out += '-';
  const auto exponent = in.Number();
  if (exponent) out += std::to_string(*exponent);
  return exponent.has_value();
}

bool ReadComplex(DScanner& in, std::string& out) {
  if (!ReadReal(in, out) || !in.Take('c')) return false;
  out += '+';
  const bool ok = ReadReal(in, out);
  out += 'i';
  return ok;
}

// The bytes of UTF-8 as hexadecimal digits.
bool ReadText(DScanner& in, char width, std::string& out) {
  const auto length = in.Number();
  if (!length || !in.Take('_') || *length > (in.text_.size() - in.at_) / 2) return false;
  const auto value = [](char c) {
    return IsDecimal(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  out += '"';
  for (size_t i = 0; i < *length; ++i, in.at_ += 2) {
    const int high = value(in.Peek());
    const int low = value(in.Peek(1));
    if (high < 0 || low < 0) return false;
    AddLetter(static_cast<unsigned char>(16 * high + low), out);
  }
  out += '"';
  if (width != 'a') out += width;
  return true;
}

}  // namespace flowback::symbols
