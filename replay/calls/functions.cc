// SPDX-License-Identifier: MIT
#include "replay/calls/functions.h"

#include <algorithm>
#include <cctype>

namespace flowback {
namespace {

// "f(int) [clone .cold]" and "f.cold.1" are parts of "f(int)" and "f".
std::string_view WithoutColdMark(std::string_view name) {
  for (const std::string_view mark :
       {std::string_view(" [clone .cold"), std::string_view(".cold")}) {
    const size_t at = name.rfind(mark);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = name.substr(at + mark.size());
    const bool is_mark = std::ranges::all_of(rest, [](char c) {
      return c == '.' || c == ']' || std::isdigit(static_cast<unsigned char>(c)) != 0;
    });
    if (is_mark) return name.substr(0, at);
  }
  return name;
}

}  // namespace

uint64_t SymbolFunctions::IdOf(const CodeSection& section, std::string_view name) {
  Names& names = files_[section.name()];
  uint64_t& id = names.by_text[name.data()];
  if (id != 0) return id;
  uint64_t& shared = names.ids[std::string(WithoutColdMark(name))];
  if (shared == 0) shared = ++last_id_;
  return id = shared;
}

FunctionPiece SymbolFunctions::Find(const AddressSpace* space, uint64_t ip) {
  const CodeMapping* mapping = space == nullptr ? nullptr : space->Find(ip);
  if (mapping == nullptr) return {};
  const auto symbol = symbolizer_.Find(*space, ip);
  if (!symbol || !symbol->is_function) return {};
  FunctionPiece piece;
  piece.begin = ip - symbol->offset;
  piece.end = piece.begin + symbol->size;
  piece.id = IdOf(*mapping->section, symbol->name);
  piece.is_stub = symbol->name.ends_with("@plt");
  piece.is_entry = WithoutColdMark(symbol->name).size() == symbol->name.size();
  return piece;
}

}  // namespace flowback
