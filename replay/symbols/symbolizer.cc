// SPDX-License-Identifier: MIT
#include "flowback/replay/symbolizer.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/linux/kernel_address.h"
#include "replay/symbols/elf/debug_file.h"
#include "replay/symbols/elf/elf_symbols.h"
#include "replay/symbols/elf/split_names.h"
#include "replay/symbols/jit_names.h"
#include "replay/symbols/kallsyms.h"

namespace flowback {
namespace {

using symbols::ElfSymbols;
using symbols::JitNames;
using symbols::Kallsyms;
using symbols::OpenDebugFile;
using symbols::SymbolFile;

bool IsStripped(const SymbolFile& file) { return file.Find(".symtab") == nullptr; }

std::optional<Symbolizer::Symbol> OfJit(const std::optional<JitNames::Hit>& hit) {
  if (!hit) return std::nullopt;
  return Symbolizer::Symbol{.name = hit->name,
                            .offset = hit->offset,
                            .size = hit->size,
                            .is_function = true,
                            .function = hit->name};
}

ElfSymbols ReadSymbols(const std::string& path, const ImageSearch& search) {
  const auto file = SymbolFile::Open(path);
  if (file == nullptr) return {};
  const auto debug_file = IsStripped(*file) ? OpenDebugFile(*file, search) : nullptr;
  return ElfSymbols::Read(*file, debug_file.get());
}

// A file as it is now.
std::string StateOf(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return path + " absent\n";
  return path + " " + std::to_string(info.st_size) + " " + std::to_string(info.st_mtim.tv_sec) +
         "." + std::to_string(info.st_mtim.tv_nsec) + "\n";
}

}  // namespace

struct Symbolizer::Files {
  // Comparing paths at each look-up would cost more than the look-up. Holding the section keeps its
  // address from being given to another one.
  struct Known {
    std::shared_ptr<const CodeSection> section;
    ElfSymbols* symbols = nullptr;
    bool is_jit = false;  // code that was in no file
  };

  const JitNames& Jit() {
    if (!jit) jit.emplace(recording == nullptr ? JitNames() : JitNames::Read(*recording));
    return *jit;
  }

  Known& Of(const std::shared_ptr<const CodeSection>& section, const ImageSearch& search) {
    Known& known = by_section[section.get()];
    if (known.symbols == nullptr) {
      auto file = by_path.find(section->name());
      if (file == by_path.end())
        file = by_path.emplace(section->name(), ReadSymbols(section->name(), search)).first;
      known = {
          .section = section, .symbols = &file->second, .is_jit = Jit().IsCode(section->name())};
    }
    return known;
  }

  // By the list of symbols in the file; an empty path is none.
  std::optional<Symbol> OfKernel(const std::string& path, uint64_t ip) {
    if (path.empty()) return std::nullopt;
    auto list = kernels.find(path);
    if (list == kernels.end()) list = kernels.emplace(path, Kallsyms::ReadFile(path)).first;
    const auto symbol = list->second.Find(ip);
    if (!symbol) return std::nullopt;
    return Symbol{.name = symbol->name,
                  .offset = symbol->offset,
                  .size = symbol->size,
                  .is_function = true,
                  .function = symbols::FunctionNameOf(symbol->name)};
  }

  const Recording* recording = nullptr;
  std::optional<JitNames> jit;
  std::mutex mutex;
  std::unordered_map<std::string, Kallsyms> kernels;
  std::unordered_map<std::string, ElfSymbols> by_path;
  std::unordered_map<const CodeSection*, Known> by_section;
};

Symbolizer::Symbolizer(ImageSearch search, const Recording* recording)
    : search_(std::move(search)), files_(std::make_unique<Files>()) {
  files_->recording = recording;
}

Symbolizer::~Symbolizer() = default;

std::optional<Symbolizer::Symbol> Symbolizer::Find(const AddressSpace& space, uint64_t ip) {
  const CodeMapping* mapping = space.Find(ip);
  const std::scoped_lock lock(files_->mutex);
  if (mapping == nullptr && IsKernelAddress(ip)) {
    const auto reason = space.SectionOrReason(ip);
    return reason == nullptr ? std::nullopt : files_->OfKernel(reason->kallsyms(), ip);
  }
  if (mapping == nullptr) return OfJit(files_->Jit().FindUnmapped(ip));
  if (const std::string& kallsyms = mapping->section->kallsyms(); !kallsyms.empty())
    return files_->OfKernel(kallsyms, ip);
  const Files::Known& file = files_->Of(mapping->section, search_);
  if (file.is_jit) return OfJit(files_->Jit().Find(ip - mapping->FileBase()));
  const auto hit = file.symbols->Find(ip - mapping->FileBase());
  if (!hit) return std::nullopt;
  return Symbol{.name = hit->name,
                .offset = hit->offset,
                .size = hit->size,
                .is_function = hit->is_function,
                .function = hit->function,
                .whole = hit->whole};
}

std::vector<std::string> Symbolizer::OtherNames(const AddressSpace& space, uint64_t ip) {
  const CodeMapping* mapping = space.Find(ip);
  if (mapping == nullptr || !mapping->section->kallsyms().empty()) return {};
  const std::scoped_lock lock(files_->mutex);
  const Files::Known& file = files_->Of(mapping->section, search_);
  return file.is_jit ? std::vector<std::string>()
                     : file.symbols->OtherNames(ip - mapping->FileBase());
}

void Symbolizer::VisitEntries(
    const CodeMapping& mapping,
    const std::function<void(std::string_view name, uint64_t ip)>& visit) {
  if (!mapping.section->kallsyms().empty()) return;
  const std::scoped_lock lock(files_->mutex);
  const Files::Known& file = files_->Of(mapping.section, search_);
  const auto visit_mapped = [&](std::string_view name, uint64_t file_offset) {
    const uint64_t ip = mapping.FileBase() + file_offset;
    if (ip - mapping.address < mapping.size) visit(name, ip);
  };
  if (file.is_jit)
    files_->Jit().VisitEntries(visit_mapped);
  else
    file.symbols->VisitEntries(visit_mapped);
}

std::vector<std::string> Symbolizer::FilesRead() const {
  const std::scoped_lock lock(files_->mutex);
  std::vector<std::string> files = {""};
  for (const auto& [path, symbols] : files_->by_path) files.push_back(path);
  for (const auto& [path, list] : files_->kernels) files.push_back(path);
  std::ranges::sort(files);
  return files;
}

std::string Symbolizer::SourceOf(const std::string& file) const {
  std::string source;
  if (file.empty()) {
    const std::scoped_lock lock(files_->mutex);
    for (const std::string& path : files_->Jit().ReadFrom()) source += StateOf(path);
    return source;
  }
  source = StateOf(file);
  const auto opened = SymbolFile::Open(file);
  if (opened == nullptr || !IsStripped(*opened)) return source;
  const auto debug_file = OpenDebugFile(*opened, search_);
  return debug_file == nullptr ? source : source + StateOf(debug_file->path());
}

std::vector<std::string> Symbolizer::KnownNames(size_t most) {
  const std::scoped_lock lock(files_->mutex);
  std::vector<std::string> names;
  // Sorted by path, so that the same names are cut off in each run.
  std::map<std::string_view, const ElfSymbols*> files;
  for (const auto& [path, symbols] : files_->by_path) files[path] = &symbols;
  for (const auto& [path, symbols] : files) symbols->AppendNames(most, names);
  std::ranges::sort(names);
  return names;
}

}  // namespace flowback
