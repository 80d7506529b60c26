// SPDX-License-Identifier: MIT
#include "flowback/replay/symbolizer.h"

#include <unordered_map>

#include "replay/symbols/elf_symbols.h"

namespace flowback {
namespace {

using symbols::ElfSymbols;
using symbols::SymbolFile;

// The separate debug file of a stripped one, by build-id; null when there is none.
std::unique_ptr<SymbolFile> OpenDebugFile(const SymbolFile& file, const ImageSearch& search) {
  const std::string id = file.build_id().ToHex();
  if (id.size() < 4) return nullptr;
  const std::string tail = "/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug";
  std::vector<std::string> folders = search.debug_dirs;
  // The build-id decides, so that this machine's debug files serve for recordings of others, too.
  folders.push_back("/usr/lib/debug");
  if (!search.symfs.empty()) folders.push_back(search.symfs + "/usr/lib/debug");
  for (const std::string& folder : folders) {
    auto debug_file = SymbolFile::Open(folder + tail);
    if (debug_file != nullptr && debug_file->build_id() == file.build_id()) return debug_file;
  }
  return nullptr;
}

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
  return Symbol{hit->name, hit->offset};
}

}  // namespace flowback
