// SPDX-License-Identifier: MIT
#include "replay/dap/breakable_places.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <tuple>
#include <utility>

#include "replay/symbols/demangle.h"
#include "replay/symbols/elf_symbols.h"
#include "replay/symbols/symbol_file.h"

namespace flowback::dap {
namespace {

// Parts of two paths that are the same, counted from their ends.
size_t SameParts(std::string_view a, std::string_view b) {
  size_t parts = 0;
  while (!a.empty() && !b.empty()) {
    const size_t slash_a = a.rfind('/');
    const size_t slash_b = b.rfind('/');
    const auto part = [](std::string_view path, size_t slash) {
      return slash == std::string_view::npos ? path : path.substr(slash + 1);
    };
    if (part(a, slash_a) != part(b, slash_b)) break;
    ++parts;
    a = slash_a == std::string_view::npos ? std::string_view() : a.substr(0, slash_a);
    b = slash_b == std::string_view::npos ? std::string_view() : b.substr(0, slash_b);
  }
  return parts;
}

// Without "a/../".
std::string Normal(std::string_view path) {
  return std::filesystem::path(path).lexically_normal().string();
}

// The name without its parameters: "f" of "f(int)", "a::f" of "a::f<b(c)>(int)".
std::string_view WithoutParameters(std::string_view name) {
  int depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>') --depth;
    if (name[i] == '(' && depth == 0 && i != 0 && !name.substr(i).starts_with("(anonymous"))
      return name.substr(0, i);
  }
  return name;
}

}  // namespace

// A file without lines has one place, as far as it reaches.
void BreakablePlaces::ReadSegment(const AddressSpace& space, uint64_t begin, uint64_t end) {
  for (uint64_t at = begin; at < end && count_ < kMostStatements;) {
    const SourcePlace place = session_.lines().Find(space, at);
    at = std::max(place.end, at + 1);
    if (!place.known() || !place.is_statement || place.frames.front().line == 0) continue;
    files_[Normal(place.frames.front().file)].push_back(
        {.line = place.frames.front().line, .scope = place.scope, .address = place.begin});
    ++count_;
  }
}

void BreakablePlaces::ReadSymbols(const LoadedImage& image) {
  const auto file = symbols::SymbolFile::Open(image.file);
  if (file == nullptr) return;
  const symbols::ElfSymbols table = symbols::ElfSymbols::Read(*file, nullptr);
  for (const symbols::ElfSymbol& symbol : table.symbols()) {
    const auto address = file->Address(symbol.begin);
    if (!symbol.is_function || !address || symbol.whole != symbol.begin) continue;
    const std::string name = symbols::Demangled(symbol.name);
    functions_.emplace(name, *address + image.bias);
    const std::string_view plain = WithoutParameters(name);
    if (plain.size() != name.size()) functions_.emplace(plain, *address + image.bias);
  }
}

void BreakablePlaces::Read(const AddressSpace& space) {
  if (space_ == &space) return;
  space_ = &space;
  std::vector<std::pair<std::string, uint64_t>> images;
  for (const LoadedImage& image : images_.ImagesOf(space))
    images.emplace_back(image.file, image.bias);
  // Another moment of the same process has the same files.
  if (images == read_) return;
  read_ = std::move(images);
  count_ = 0;
  files_.clear();
  functions_.clear();
  for (const LoadedImage& image : images_.ImagesOf(space)) {
    for (const ImageSegment& segment : image.layout->segments) {
      if (!segment.executable) continue;
      const uint64_t begin = segment.address + image.bias;
      ReadSegment(space, begin, begin + segment.size);
    }
    ReadSymbols(image);
  }
  for (auto& [file, statements] : files_)
    std::ranges::sort(statements, [](const Statement& a, const Statement& b) {
      return std::tie(a.line, a.scope, a.address) < std::tie(b.line, b.scope, b.address);
    });
}

std::vector<std::string> BreakablePlaces::FilesLike(const std::string& path) const {
  std::vector<std::string> best;
  if (const auto exact = files_.find(Normal(path)); exact != files_.end()) return {exact->first};
  size_t most = 1;
  for (const auto& [file, statements] : files_) {
    const size_t parts = SameParts(file, path);
    if (parts < most) continue;
    if (parts > most) best.clear();
    best.push_back(file);
    most = parts;
  }
  return best;
}

void BreakablePlaces::AddLine(const Statements& statements, uint32_t line, LineCode& code) {
  auto at = std::ranges::lower_bound(statements, line, {}, &Statement::line);
  const uint32_t found = at->line;
  std::optional<uint64_t> scope;
  for (; at != statements.end() && at->line == found; ++at) {
    if (scope != at->scope) code.addresses.push_back(at->address);
    scope = at->scope;
  }
}

std::optional<LineCode> BreakablePlaces::OfLine(const AddressSpace& space, const std::string& path,
                                                uint32_t line) {
  Read(space);
  LineCode code;
  for (const std::string& file : FilesLike(path)) {
    const Statements& statements = files_.find(file)->second;
    const auto at = std::ranges::lower_bound(statements, line, {}, &Statement::line);
    if (at == statements.end()) continue;
    if (code.files.empty()) code.line = at->line;
    code.files.push_back(file);
    AddLine(statements, line, code);
  }
  if (code.files.empty()) return std::nullopt;
  std::ranges::sort(code.addresses);
  return code;
}

std::vector<uint64_t> BreakablePlaces::OfFunction(const AddressSpace& space,
                                                  const std::string& name) {
  Read(space);
  std::vector<uint64_t> addresses;
  for (auto [at, end] = functions_.equal_range(name); at != end; ++at)
    addresses.push_back(at->second);
  std::ranges::sort(addresses);
  const auto same = std::ranges::unique(addresses);
  addresses.erase(same.begin(), same.end());
  return addresses;
}

std::vector<std::string> BreakablePlaces::Files(const AddressSpace& space) {
  Read(space);
  std::vector<std::string> files;
  for (const auto& [file, statements] : files_) files.push_back(file);
  return files;
}

}  // namespace flowback::dap
