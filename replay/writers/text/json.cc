// SPDX-License-Identifier: MIT
#include "replay/writers/text/json.h"

#include <fmt/format.h>

#include <iterator>

#include "replay/writers/text/printable.h"

namespace flowback {
namespace {

void AppendAscii(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  out += c;
}

}  // namespace

void AppendJsonString(std::string& out, std::string_view text) {
  out += '"';
  if (IsPlain(text) && !text.contains('"')) {
    out += text;
    text = {};
  }
  while (!text.empty()) {
    const TextUnit unit = FirstUnit(text);
    if (!unit.valid)
      out += "\\ufffd";
    else if (IsControl(unit.code) && unit.code != '\n' && unit.code != '\t')
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", unit.code);
    else if (unit.length == 1)
      AppendAscii(out, text[0]);
    else
      out += text.substr(0, unit.length);
    text.remove_prefix(unit.length);
  }
  out += '"';
}

void JsonLine::Key(std::string_view key) {
  if (!first_) out_ += ',';
  first_ = false;
  out_ += '"';
  out_ += key;
  out_ += "\":";
}

JsonLine& JsonLine::Text(std::string_view key, std::string_view value) {
  Key(key);
  AppendJsonString(out_, value);
  return *this;
}

JsonLine& JsonLine::Bool(std::string_view key, bool value) {
  Key(key);
  out_ += value ? "true" : "false";
  return *this;
}

JsonLine& JsonLine::Hex(std::string_view key, uint64_t value) {
  Key(key);
  fmt::format_to(std::back_inserter(out_), "\"{:x}\"", value);
  return *this;
}

JsonLine& JsonLine::Raw(std::string_view key, std::string_view json) {
  Key(key);
  out_ += json;
  return *this;
}

JsonLine& JsonLine::Null(std::string_view key) {
  Key(key);
  out_ += "null";
  return *this;
}

}  // namespace flowback
