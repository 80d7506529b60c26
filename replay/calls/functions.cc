// SPDX-License-Identifier: MIT
#include "replay/calls/functions.h"

#include <algorithm>
#include <cctype>
#include <utility>

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

FunctionPiece SymbolFunctions::Find(const AddressSpace* space, uint64_t ip) {
  const std::scoped_lock lock(mutex_);
  Answer& answer = answers_[(ip ^ (ip >> 12)) % kAnswers];
  if (answer.ip != ip || answer.space != space)
    answer = {.space = space, .ip = ip, .piece = LookUp(space, ip)};
  return answer.piece;
}

FunctionPiece SymbolFunctions::LookUp(const AddressSpace* space, uint64_t ip) {
  const CodeMapping* mapping = space == nullptr ? nullptr : space->Find(ip);
  if (mapping == nullptr) return {};
  const auto symbol = symbolizer_.Find(*space, ip);
  if (!symbol || !symbol->is_function) return {};
  const std::string_view whole = WithoutColdMark(symbol->name);
  std::string key = mapping->section->name();
  key += '\0';
  key += whole;
  FunctionPiece piece;
  piece.begin = ip - symbol->offset;
  piece.end = piece.begin + symbol->size;
  piece.id = ids_.try_emplace(std::move(key), ids_.size() + 1).first->second;
  piece.is_stub = symbol->name.ends_with("@plt");
  piece.is_entry = whole.size() == symbol->name.size();
  return piece;
}

}  // namespace flowback
