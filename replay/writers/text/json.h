// SPDX-License-Identifier: MIT
// JSON lines, written straight into the output buffer: one object per line, keys in given order.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace flowback {

// Appends `text` quoted and escaped; bytes that are not UTF-8 become U+FFFD. What rules a terminal
// (printable.h) is escaped, too.
void AppendJsonString(std::string& out, std::string_view text);

// Writes one object into `out`, which the caller owns. `End` closes it with a newline.
class JsonLine {
 public:
  explicit JsonLine(std::string& out) : out_(out) { out_ += '{'; }
  // Adds keys to an object that `out` holds the beginning of, with at least one key.
  static JsonLine Continue(std::string& out) { return JsonLine(out, false); }

  JsonLine& Text(std::string_view key, std::string_view value);
  JsonLine& Number(std::string_view key, std::integral auto value) {
    Key(key);
    char digits[24];
    out_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    return *this;
  }
  JsonLine& Bool(std::string_view key, bool value);
  // An address or payload: lower-case hexadecimal in quotes, because it may exceed 2^53.
  JsonLine& Hex(std::string_view key, uint64_t value);
  JsonLine& Null(std::string_view key);
  // Null where the value is empty, or 0.
  JsonLine& TextOrNull(std::string_view key, std::string_view value) {
    return value.empty() ? Null(key) : Text(key, value);
  }
  JsonLine& NumberOrNull(std::string_view key, std::integral auto value) {
    return value == 0 ? Null(key) : Number(key, value);
  }
  JsonLine& HexOrNull(std::string_view key, uint64_t value) {
    return value == 0 ? Null(key) : Hex(key, value);
  }
  // `json` is a value already written, as an array is.
  JsonLine& Raw(std::string_view key, std::string_view json);
  void End() { out_ += "}\n"; }

 private:
  JsonLine(std::string& out, bool first) : out_(out), first_(first) {}

  void Key(std::string_view key);

  std::string& out_;
  bool first_ = true;
};

}  // namespace flowback
