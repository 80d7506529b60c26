// SPDX-License-Identifier: MIT
#include "capture/record/watch/function_name.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <tuple>

#include "base/mapped_file.h"
#include "base/name_pattern.h"
#include "capture/record/image/elf_tables.h"

namespace flowback::record {
namespace {

std::string_view LastPart(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Whether a symbol's name is the one looked for.
class NameMatch {
 public:
  explicit NameMatch(const std::string& wanted) : wanted_(wanted) {
    if (auto pattern = NamePattern::Parse(wanted); pattern && !pattern->is_plain())
      pattern_ = *std::move(pattern);
    // The last identifier stands in the mangled name as it is: few names need demangling.
    const std::string head = wanted.substr(0, wanted.find('('));
    const size_t scope = head.rfind("::");
    identifier_ = scope == std::string::npos ? head : head.substr(scope + 2);
    identifier_ = identifier_.substr(0, identifier_.find('<'));
  }

  bool operator()(std::string_view symbol) const {
    symbol = symbol.substr(0, symbol.find('@'));  // its version
    if (pattern_) return pattern_->Matches(symbol) || pattern_->Matches(Demangled(symbol));
    for (const std::string_view copy : {".constprop.", ".isra.", ".lto_priv."})
      symbol = symbol.substr(0, symbol.find(copy));
    if (symbol == wanted_) return true;
    // A part that the compiler moved away is no place where the function is entered.
    if (symbol.contains(".cold") || symbol.contains(".part.")) return false;
    if (!symbol.starts_with("_Z") || symbol.find(identifier_) == std::string_view::npos)
      return false;
    return IsDemangled(std::string(symbol));
  }

 private:
  // Empty: it is no mangled name.
  static std::string Demangled(std::string_view symbol) {
    if (!symbol.starts_with("_Z")) return {};
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(std::string(symbol).c_str(), nullptr, nullptr, &status), &std::free);
    return text == nullptr ? std::string() : text.get();
  }
  bool IsDemangled(const std::string& symbol) const {
    std::string name = Demangled(symbol);
    if (name.empty()) return false;
    if (name == wanted_) return true;
    if (!wanted_.contains("(anonymous namespace)")) name = WithoutAnonymousNamespaces(name);
    if (name == wanted_) return true;
    // Without the parameters, and without the result that templates have in front.
    const size_t at = name.find(wanted_ + "(");
    return at == 0 || (at != std::string::npos && name[at - 1] == ' ');
  }

  const std::string& wanted_;
  std::string identifier_;
  std::optional<NamePattern> pattern_;  // it is no single name
};

// Adds the functions of the table to `places`; `code` holds what the addresses mean.
void Search(const ElfTables& file, const Elf64_Shdr& table, const NameMatch& matches,
            const ElfTables& code, FunctionPlaces& places) {
  file.VisitSymbols(table, [&](const Elf64_Sym& symbol, std::string_view name) {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    const bool may_be_code = type == STT_FUNC || type == STT_NOTYPE || type == STT_GNU_IFUNC;
    if (!may_be_code || symbol.st_shndx == SHN_UNDEF || !matches(name)) return;
    const auto offset = code.FileOffset(symbol.st_value);
    if (!offset) return;
    if (type == STT_GNU_IFUNC)
      places.indirect = true;
    else
      places.offsets.push_back(*offset);
  });
}

void SearchTables(const ElfTables& file, const NameMatch& matches, const ElfTables& code,
                  FunctionPlaces& places) {
  for (const Elf64_Shdr& section : file.sections())
    if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM)
      Search(file, section, matches, code, places);
}

void AddRanges(const ElfTables& file, const ElfTables& code, std::vector<FunctionRange>& ranges) {
  for (const Elf64_Shdr& section : file.sections()) {
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) continue;
    file.VisitSymbols(section, [&](const Elf64_Sym& symbol, std::string_view name) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) return;
      if (const auto offset = code.FileOffset(symbol.st_value))
        ranges.push_back({.name = std::string(name.substr(0, name.find('@'))),
                          .begin = *offset,
                          .size = symbol.st_size,
                          .global = ELF64_ST_BIND(symbol.st_info) != STB_LOCAL});
    });
  }
}

std::string DebugFile(const std::string& build_id) {
  if (build_id.size() < 3) return {};
  return "/usr/lib/debug/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + ".debug";
}

}  // namespace

bool FunctionName::MayBeIn(std::string_view path) const {
  if (file.empty() || path == file) return true;
  if (file.find('/') != std::string::npos) return false;
  const std::string_view last = LastPart(path);
  return last == file || (last.starts_with(file) && last[file.size()] == '.');
}

std::optional<FunctionName> ParseFunctionName(const std::string& text) {
  FunctionName result{.name = text, .file = {}};
  if (text.size() > 2 && text.starts_with('/') && text.ends_with('/'))
    return NamePattern::Parse(text) ? std::optional(result) : std::nullopt;
  const size_t at = text.rfind('@');
  size_t colon = text.find(':');
  while (colon != std::string::npos && text.substr(colon, 2) == "::")
    colon = text.find(':', colon + 2);
  if (at != std::string::npos)
    result = {text.substr(0, at), text.substr(at + 1)};
  else if (colon != std::string::npos)
    result = {text.substr(colon + 1), text.substr(0, colon)};
  const bool names_file = at != std::string::npos || colon != std::string::npos;
  if (result.name.empty() || (names_file && result.file.empty())) return std::nullopt;
  return result;
}

std::string ToText(const FunctionName& function) {
  return function.file.empty() ? function.name : function.name + "@" + function.file;
}

FunctionPlaces FindFunction(const std::string& path, const std::string& name) {
  FunctionPlaces places;
  const auto file = MappedFile::Open(path);
  if (!file) return places;
  const ElfTables tables((*file)->bytes());
  const NameMatch matches(name);
  SearchTables(tables, matches, tables, places);
  const auto debug = MappedFile::Open(DebugFile(tables.BuildId()));
  if (debug) SearchTables(ElfTables((*debug)->bytes()), matches, tables, places);
  std::ranges::sort(places.offsets);
  const auto same = std::ranges::unique(places.offsets);
  places.offsets.erase(same.begin(), same.end());
  return places;
}

std::vector<FunctionRange> FunctionRanges(const std::string& path) {
  std::vector<FunctionRange> ranges;
  const auto file = MappedFile::Open(path);
  if (!file) return ranges;
  const ElfTables tables((*file)->bytes());
  AddRanges(tables, tables, ranges);
  if (const auto debug = MappedFile::Open(DebugFile(tables.BuildId())))
    AddRanges(ElfTables((*debug)->bytes()), tables, ranges);
  const auto order = [](const FunctionRange& one) { return std::tie(one.begin, one.name); };
  std::ranges::sort(ranges, {}, order);
  const auto same = std::ranges::unique(ranges, {}, order);
  ranges.erase(same.begin(), same.end());
  return ranges;
}

}  // namespace flowback::record
