// SPDX-License-Identifier: MIT
#include "flowback/replay/functions.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "replay/symbols/unwind_table.h"

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

uint64_t SymbolFunctions::LandingPad(const AddressSpace* space, uint64_t return_address) {
  const std::scoped_lock lock(mutex_);
  Pad& pad = pads_[(return_address ^ (return_address >> 12)) % kAnswers];
  if (pad.return_address == return_address && pad.space == space) return pad.address;
  pad = {.space = space, .return_address = return_address};
  const CodeMapping* mapping = space == nullptr ? nullptr : space->Find(return_address - 1);
  if (mapping == nullptr) return 0;
  const auto offset = TableOf(*mapping).LandingPad(return_address - mapping->FileBase());
  pad.address = offset ? *offset + mapping->FileBase() : 0;
  return pad.address;
}

bool SymbolFunctions::IsLandingPad(const AddressSpace* space, uint64_t ip) {
  const CodeMapping* mapping = space == nullptr ? nullptr : space->Find(ip);
  if (mapping == nullptr) return false;
  const std::scoped_lock lock(mutex_);
  return TableOf(*mapping).IsLandingPad(ip - mapping->FileBase());
}

std::optional<int64_t> SymbolFunctions::FrameSize(const AddressSpace* space, uint64_t ip) {
  const CodeMapping* mapping = space == nullptr ? nullptr : space->Find(ip);
  if (mapping == nullptr) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  return TableOf(*mapping).FrameSize(ip - mapping->FileBase());
}

FunctionPiece SymbolFunctions::LookUp(const AddressSpace* space, uint64_t ip) {
  const CodeMapping* mapping = space == nullptr ? nullptr : space->Find(ip);
  if (mapping == nullptr) return {};
  const auto symbol = symbolizer_.Find(*space, ip);
  if (!symbol) return WithoutSymbol(*mapping, ip);
  if (!symbol->is_function) return {};
  const std::string_view whole = WithoutColdMark(symbol->name);
  std::string key = mapping->section->name();
  key += '\0';
  key += whole;
  FunctionPiece piece;
  piece.begin = ip - symbol->offset;
  piece.end = piece.begin + symbol->size;
  piece.id = IdOf(std::move(key));
  piece.is_stub = symbol->name.ends_with("@plt");
  piece.is_entry = whole.size() == symbol->name.size();
  return piece;
}

FunctionPiece SymbolFunctions::WithoutSymbol(const CodeMapping& mapping, uint64_t ip) {
  const uint64_t base = mapping.FileBase();
  const auto range = TableOf(mapping).Find(ip - base);
  if (!range) return {};
  return {.begin = range->begin + base,
          .end = range->end + base,
          .id = IdOf(mapping.section->name() + '\0' + '\0' + std::to_string(range->begin)),
          .is_entry = true};
}

uint64_t SymbolFunctions::IdOf(std::string key) {
  return ids_.try_emplace(std::move(key), ids_.size() + 1).first->second;
}

const symbols::UnwindTable& SymbolFunctions::TableOf(const CodeMapping& mapping) {
  std::shared_ptr<const symbols::UnwindTable>& table = tables_[mapping.section->name()];
  if (table == nullptr)
    table = std::make_shared<symbols::UnwindTable>(symbols::UnwindTable::Of(mapping));
  return *table;
}

}  // namespace flowback
