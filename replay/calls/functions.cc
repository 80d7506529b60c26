// SPDX-License-Identifier: MIT
#include "flowback/replay/functions.h"

#include <utility>

#include "replay/symbols/frames/unwind_table.h"

namespace flowback {

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
  // Files may have several functions of one name: where each begins tells them apart.
  std::string key = mapping->section->name() + '\0';
  key += symbol->whole ? std::to_string(*symbol->whole) : std::string(symbol->function);
  FunctionPiece piece;
  piece.begin = ip - symbol->offset;
  piece.end = piece.begin + symbol->size;
  piece.id = IdOf(std::move(key));
  piece.is_stub = symbol->name.ends_with("@plt");
  piece.is_entry = symbol->function.size() == symbol->name.size();
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
