// SPDX-License-Identifier: MIT
#include "replay/dap/breakable_places.h"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>
#include <utility>

#include "base/mix_bits.h"
#include "base/path_text.h"
#include "replay/dap/function_names.h"
#include "replay/debug/source/inlined_lines.h"

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

uint64_t Mixed(uint64_t key, uint64_t value) {
  constexpr unsigned kFolded = 29;
  return MixBits(key ^ value) + (key >> kFolded);
}

// Returns a key that distinguishes a function, `levels` levels deep in a place, from the same
// function inlined elsewhere. `id`: the outermost function's.
uint64_t KeyOf(uint64_t id, const SourcePlace& place, size_t levels) {
  uint64_t key = Mixed(id, levels);
  for (size_t level = 1; level <= levels; ++level) {
    const SourceFrame& frame = place.frames[place.frames.size() - level];
    key = Mixed(key, std::hash<std::string_view>()(frame.function));
    if (level == levels) break;
    key = Mixed(key, (uint64_t{frame.line} << 32) | frame.column);
  }
  return key;
}

}  // namespace

// A file without lines has one place, as far as it reaches.
void BreakablePlaces::ReadSegment(const AddressSpace& space, uint64_t begin, uint64_t end) {
  SourcePlace before;
  FunctionPiece piece;
  for (uint64_t at = begin; at < end && count_ < kMostStatements;) {
    const SourcePlace place = session_.lines().Find(space, at);
    at = std::max(place.end, at + 1);
    if (!place.known() || !place.is_statement) continue;
    if (!piece.Holds(place.begin)) piece = session_.functions().Find(&space, place.begin);
    if (place.frames.size() > 1) AddInlined(place, before, piece.id);
    before = place;
    if (place.frames.front().line == 0) continue;
    files_[NormalPath(place.frames.front().file)].push_back(
        {.line = place.frames.front().line,
         .scope = place.scope,
         .address = place.begin,
         .function = KeyOf(piece.id, place, place.frames.size())});
    ++count_;
  }
}

// The code of a function that is inlined may lie in parts: it begins with the first.
void BreakablePlaces::AddInlined(const SourcePlace& place, const SourcePlace& before, uint64_t id) {
  const size_t levels = place.frames.size();
  for (size_t level = CommonLevels(place, before) + 1; level <= levels; ++level) {
    const SourceFrame& frame = place.frames[levels - level];
    if (!frame.is_inlined || level == 1) continue;
    const SourceFrame& caller = place.frames[levels - level + 1];
    const uint64_t function = KeyOf(id, place, level - 1);
    const Statement statement{.line = caller.line,
                              .scope = function,
                              .address = place.begin,
                              .function = function,
                              .inlined = levels - level + 1};
    inlined_.push_back({caller.file, statement});
    functions_.emplace(TakeApart(frame.function).Plain(),
                       Function{std::string(frame.function), place.begin});
    ++count_;
  }
}

// A line may begin with code that is inlined into it, or have no other. REQUIRES: statements are
// sorted.
void BreakablePlaces::AddCallingLines() {
  std::map<std::string, Statements> added;
  for (const auto& [file, call] : inlined_) {
    if (call.line == 0) continue;
    const std::string path = NormalPath(file);
    Statement statement = call;
    for (const Statement& own :
         std::ranges::equal_range(files_[path], call.line, {}, &Statement::line))
      if (own.function == call.function) statement.scope = own.scope;
    added[path].push_back(statement);
  }
  inlined_.clear();
  for (const auto& [path, statements] : added)
    files_[path].insert(files_[path].end(), statements.begin(), statements.end());
}

void BreakablePlaces::Sort() {
  for (auto& [file, statements] : files_)
    std::ranges::sort(statements, [](const Statement& a, const Statement& b) {
      return std::tie(a.line, a.scope, a.address) < std::tie(b.line, b.scope, b.address);
    });
}

void BreakablePlaces::AddFunctions(const CodeMapping& mapping, Functions& functions) {
  session_.symbols().VisitEntries(mapping, [&](std::string_view name, uint64_t ip) {
    functions.emplace(TakeApart(name).Plain(), Function{std::string(name), ip});
  });
}

void BreakablePlaces::Read(const AddressSpace& space) {
  if (space_ == &space) return;
  space_ = &space;
  std::vector<std::pair<std::string, uint64_t>> images;
  for (const LoadedImage& image : images_.ImagesOf(space))
    images.emplace_back(image.file, image.bias);
  // Another moment of the same process has the same files.
  made_.clear();
  for (const CodeMapping& mapping : space.mappings())
    if (!mapping.section->file_mode()) AddFunctions(mapping, made_);
  if (images == read_) return;
  read_ = std::move(images);
  count_ = 0;
  files_.clear();
  inlined_.clear();
  functions_.clear();
  has_names_.clear();
  for (const LoadedImage& image : images_.ImagesOf(space)) {
    for (const ImageSegment& segment : image.layout->segments) {
      if (!segment.executable) continue;
      const uint64_t begin = segment.address + image.bias;
      ReadSegment(space, begin, begin + segment.size);
    }
  }
  Sort();
  AddCallingLines();
  Sort();
  for (const CodeMapping& mapping : space.mappings())
    if (mapping.section->file_mode()) {
      const size_t before = functions_.size();
      AddFunctions(mapping, functions_);
      has_names_[mapping.section->name()] |= functions_.size() != before;
    }
}

std::vector<std::string> BreakablePlaces::FilesLike(const std::string& path) const {
  std::vector<std::string> best;
  if (const auto exact = files_.find(NormalPath(path)); exact != files_.end())
    return {exact->first};
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
    if (scope != at->scope) {
      code.addresses.push_back(at->address);
      if (at->inlined != 0) code.inlined[at->address] = at->inlined;
    }
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
  std::set<uint64_t> addresses;
  const NameParts typed = TakeApart(name);
  for (const Functions* functions : {&functions_, &made_})
    for (auto [at, end] = functions->equal_range(typed.Plain()); at != end; ++at)
      if (Fits(typed, TakeApart(at->second.name))) addresses.insert(at->second.entry);
  return {addresses.begin(), addresses.end()};
}

std::vector<std::string> BreakablePlaces::FilesWithoutNames(const AddressSpace& space) {
  Read(space);
  std::vector<std::string> files;
  for (const auto& [file, has_names] : has_names_)
    if (!has_names) files.push_back(file);
  return files;
}

std::vector<std::string> BreakablePlaces::FunctionsLike(const AddressSpace& space,
                                                        const std::string& begin, size_t most) {
  Read(space);
  std::set<std::string> names;
  for (const Functions* functions : {&functions_, &made_})
    for (auto at = functions->lower_bound(begin);
         at != functions->end() && at->first.starts_with(begin) && names.size() < most; ++at)
      names.insert(at->first);
  return {names.begin(), names.end()};
}

std::vector<uint32_t> BreakablePlaces::LinesWithCode(const AddressSpace& space,
                                                     const std::string& path, uint32_t first,
                                                     uint32_t last) {
  Read(space);
  std::set<uint32_t> lines;
  for (const std::string& file : FilesLike(path)) {
    const Statements& statements = files_.find(file)->second;
    for (auto at = std::ranges::lower_bound(statements, first, {}, &Statement::line);
         at != statements.end() && at->line <= last; ++at)
      lines.insert(at->line);
  }
  return {lines.begin(), lines.end()};
}

std::vector<std::string> BreakablePlaces::Files(const AddressSpace& space) {
  Read(space);
  std::vector<std::string> files;
  for (const auto& [file, statements] : files_) files.push_back(file);
  return files;
}

}  // namespace flowback::dap
