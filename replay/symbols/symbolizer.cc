// SPDX-License-Identifier: MIT
#include "flowback/replay/symbolizer.h"

#include <unordered_map>

#include "replay/symbols/debug_file.h"
#include "replay/symbols/elf_symbols.h"

namespace flowback {
namespace {

using symbols::ElfSymbols;
using symbols::OpenDebugFile;
using symbols::SymbolFile;

bool IsStripped(const SymbolFile& file) { return file.Find(".symtab") == nullptr; }

ElfSymbols ReadSymbols(const std::string& path, const ImageSearch& search) {
  const auto file = SymbolFile::Open(path);
  if (file == nullptr) return {};
  const auto debug_file = IsStripped(*file) ? OpenDebugFile(*file, search) : nullptr;
  return ElfSymbols::Read(*file, debug_file.get());
}

}  // namespace

struct Symbolizer::Files {
  std::unordered_map<std::string, ElfSymbols> by_path;
};

Symbolizer::Symbolizer(ImageSearch search)
    : search_(std::move(search)), files_(std::make_unique<Files>()) {}

Symbolizer::~Symbolizer() = default;

std::optional<Symbolizer::Symbol> Symbolizer::Find(const AddressSpace& space, uint64_t ip) {
  const CodeMapping* mapping = space.Find(ip);
  if (mapping == nullptr) return std::nullopt;
  const std::string& path = mapping->section->name();
  auto file = files_->by_path.find(path);
  if (file == files_->by_path.end())
    file = files_->by_path.emplace(path, ReadSymbols(path, search_)).first;
  const auto hit = file->second.Find(ip - mapping->FileBase());
  if (!hit) return std::nullopt;
  return Symbol{
      .name = hit->name, .offset = hit->offset, .size = hit->size, .is_function = hit->is_function};
}

}  // namespace flowback
