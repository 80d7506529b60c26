// SPDX-License-Identifier: MIT
#include "replay/symbols/lines/source_file.h"

#include <algorithm>
#include <set>
#include <utility>

#include "decode/code/images/kept_images.h"
#include "replay/symbols/demangle/demangle.h"
#include "replay/symbols/elf/debug_file.h"

namespace flowback::symbols {
namespace {

constexpr size_t kMaxInlined = 1000;  // calls in one place; a damaged tree may have a loop

bool HasAny(const SymbolFile& file, std::initializer_list<const char*> names) {
  return std::ranges::any_of(names, [&](const char* name) {
    const FileSection* section = file.Find(name);
    return section != nullptr && section->header.sh_type != SHT_NOBITS;
  });
}

// The linker compressed sections (.zdebug_*) before ELF had a way to say so.
bool HasDwarf(const SymbolFile& file) {
  return HasAny(file, {".debug_line", ".debug_info", ".zdebug_line", ".zdebug_info"});
}

}  // namespace

SourceFile::SourceFile(const std::string& path, const ImageSearch& search)
    : path_(path), elf_(SymbolFile::Open(path)) {
  if (elf_ == nullptr) return;
  std::unique_ptr<SymbolFile> debug_file;
  if (!HasDwarf(*elf_)) {
    debug_file = OpenDebugFile(*elf_, search);
    if (debug_file != nullptr) debug_path_ = debug_file->path();
    if (debug_file == nullptr || !HasDwarf(*debug_file)) return;
  }
  const SymbolFile& file = debug_file != nullptr ? *debug_file : *elf_;
  DwarfRequest request;
  request.path = debug_file != nullptr ? debug_file->path() : path;
  request.program_path = OriginOf(path);
  request.folders = search.debug_dirs;
  if (!search.symfs.empty()) request.folders.push_back(search.symfs);
  dwarf_ = KeptDwarf::Open(std::move(request), file,
                           {.folder = search.cache, .most_bytes = search.cache_bytes}, problem_);
  if (dwarf_ == nullptr) return;
  std::vector<OwnedRange> units;
  for (const UnitRange& range : dwarf_->units())
    units.push_back({range.begin, range.end, range.unit});
  units_ = Disjoint(std::move(units));
}

NamedFiles SourceFile::Files() {
  NamedFiles named;
  std::set<uint32_t> units;
  if (dwarf_ != nullptr)
    for (const UnitRange& range : dwarf_->units()) units.insert(range.unit);
  for (const uint32_t unit : units) {
    UnitInfo info = dwarf_->ReadUnit(unit);
    for (SourceFileInfo& file : info.files) named.sources.insert(std::move(file.path));
    if (info.split_file.empty()) continue;
    if (info.split_name.empty())
      named.package = info.split_file;
    else
      named.split.emplace(info.split_name, info.split_file);
  }
  return named;
}

SourcePlace SourceFile::Nothing(uint64_t begin, uint64_t end) {
  return {.begin = begin, .end = end, .frames = {}, .scope = 0};
}

SourceFile::Unit& SourceFile::UnitAt(uint32_t number) {
  std::unique_ptr<Unit>& unit = read_[number];
  if (unit == nullptr) {
    unit = std::make_unique<Unit>();
    unit->info = dwarf_->ReadUnit(number);
    unit->names.resize(unit->info.names.size());
    for (const SourceFileInfo& file : unit->info.files)
      if (file.md5) md5_.emplace(file.path, *file.md5);
    unit->line_ranges = LineRangesOf(unit->info);
    unit->first_scope = next_scope_;
    next_scope_ += unit->info.subroutines.size() + 1;
    unit->frames.resize(unit->line_ranges.size());
  }
  return *unit;
}

const std::vector<SourceFrame>& SourceFile::FramesOf(Unit& unit, size_t number) {
  std::vector<SourceFrame>& frames = unit.frames[number];
  if (!frames.empty()) return frames;
  const UnitInfo& info = unit.info;
  const LineRange& line_range = unit.line_ranges[number];
  const auto name_it = [&](uint32_t name, SourceFrame& frame) {
    if (name >= info.names.size()) return;
    std::string& demangled = unit.names[name];
    if (demangled.empty()) demangled = Demangled(info.names[name]);
    frame.function = demangled;
    frame.linkage_name = info.names[name];
  };
  const auto place = [&](uint32_t file, uint32_t line, uint32_t column, uint32_t discriminator) {
    SourceFrame frame;
    if (file < info.files.size()) frame.file = info.files[file].path;
    frame.line = line;
    frame.column = column;
    frame.discriminator = discriminator;
    return frame;
  };
  SourceFrame frame =
      place(line_range.file, line_range.line, line_range.column, line_range.discriminator);
  uint32_t at = line_range.subroutine;
  while (at < info.subroutines.size() && frames.size() < kMaxInlined) {
    const Subroutine& subroutine = info.subroutines[at];
    name_it(subroutine.name, frame);
    frame.first_line = subroutine.first_line;
    frame.is_inlined = subroutine.parent != kNone;
    frames.push_back(frame);
    if (!frame.is_inlined) return frames;
    frame = place(subroutine.call_file, subroutine.call_line, subroutine.call_column,
                  subroutine.call_discriminator);
    at = subroutine.parent;
  }
  frames.push_back(frame);
  return frames;
}

SourcePlace SourceFile::Find(uint64_t file_offset) {
  if (dwarf_ == nullptr) return Nothing(file_offset, file_offset + 1);
  const auto address = elf_->Address(file_offset);
  const OwnedRange* range = address ? FindRange(units_, *address) : nullptr;
  if (range == nullptr) return Nothing(file_offset, file_offset + 1);
  Unit& unit = UnitAt(range->owner);
  const auto after = std::ranges::upper_bound(unit.line_ranges, *address, {}, &LineRange::begin);
  const auto number = static_cast<size_t>(after - unit.line_ranges.begin());
  if (number == 0 || *address >= unit.line_ranges[number - 1].end)
    return Nothing(file_offset, file_offset + 1);
  const LineRange& line_range = unit.line_ranges[number - 1];
  const uint64_t to_offset = file_offset - *address;
  SourcePlace place;
  place.begin = std::max(line_range.begin, range->begin) + to_offset;
  place.end = std::min(line_range.end, range->end) + to_offset;
  place.frames = FramesOf(unit, number - 1);
  place.is_statement = line_range.is_statement;
  place.scope = unit.first_scope + (line_range.subroutine == kNone ? 0 : line_range.subroutine + 1);
  return place;
}

std::optional<std::array<uint8_t, 16>> SourceFile::Md5Of(std::string_view source) const {
  const auto found = md5_.find(source);
  if (found == md5_.end()) return std::nullopt;
  return found->second;
}

bool SourceFile::HasMd5(const std::string& source, const std::array<uint8_t, 16>& md5) {
  return dwarf_ != nullptr && dwarf_->HasMd5(source, md5);
}

void SourceFile::Keep() {
  if (dwarf_ != nullptr) dwarf_->Keep();
}

std::string SourceFile::Problem() const {
  if (!problem_.empty()) return path_ + ": debug information: " + problem_;
  const std::vector<std::string> problems =
      dwarf_ == nullptr ? std::vector<std::string>() : dwarf_->problems();
  if (problems.empty()) return {};
  std::string text = path_ + ": damaged or incomplete debug information:";
  for (const std::string& problem : problems) text += (text.back() == ':' ? " " : "; ") + problem;
  return text;
}

}  // namespace flowback::symbols
