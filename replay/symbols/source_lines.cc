// SPDX-License-Identifier: MIT
#include "flowback/replay/source_lines.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/path_text.h"
#include "decode/code/images/image_search.h"
#include "replay/symbols/jit_names.h"
#include "replay/symbols/lines/source_file.h"
#include "replay/symbols/lines/source_text.h"

namespace flowback {

using symbols::JitNames;
using symbols::SourceFile;
using symbols::SourceText;

namespace {

// Above these bits stands the file's number.
constexpr uint64_t kScopes = (uint64_t{1} << 39) - 1;

}  // namespace

struct SourceLines::Files {
  struct Entry {
    std::unique_ptr<SourceFile> lines;
    uint64_t number = 0;
  };

  // Holding the section keeps its address from being given to another one.
  struct Known {
    std::shared_ptr<const CodeSection> section;
    Entry* entry = nullptr;
    bool is_jit = false;  // code that was in no file
  };

  const Known& Of(const std::shared_ptr<const CodeSection>& section) {
    Known& known = by_section[section.get()];
    if (known.entry == nullptr) {
      const auto [entry, is_new] = by_path.try_emplace(section->name());
      if (is_new) {
        entry->second.lines = std::make_unique<SourceFile>(section->name(), search);
        entry->second.number = by_path.size();
      }
      known = {
          .section = section, .entry = &entry->second, .is_jit = Jit().IsCode(section->name())};
    }
    return known;
  }

  const JitNames& Jit() {
    if (!jit) jit.emplace(recording == nullptr ? JitNames() : JitNames::Read(*recording));
    return *jit;
  }

  // Returns the place of code that a process made, if a jitdump has its line.
  SourcePlace FindJit(uint64_t file_offset) {
    const auto found = Jit().FindLine(file_offset);
    if (!found) return {.begin = file_offset, .end = file_offset + 1, .frames = {}, .scope = 0};
    SourceFrame& frame = jit_frames[found->begin];
    frame = {.function = found->function, .file = found->file, .line = found->line};
    return {.begin = found->begin,
            .end = found->end,
            .frames = {&frame, 1},
            .scope = (found->function_begin & kScopes) + 1};
  }

  std::mutex mutex;
  ImageSearch search;
  std::unordered_map<std::string, Entry> by_path;
  std::unordered_map<const CodeSection*, Known> by_section;
  std::unordered_map<std::string, SourceText> sources;
  const Recording* recording = nullptr;
  std::optional<JitNames> jit;
  std::unordered_map<uint64_t, SourceFrame> jit_frames;  // by the place where the line begins
};

SourceLines::SourceLines(ImageSearch search, const Recording* recording)
    : files_(std::make_unique<Files>()) {
  files_->search = std::move(search);
  files_->recording = recording;
}

SourceLines::~SourceLines() = default;

SourcePlace SourceLines::Find(const AddressSpace& space, uint64_t ip) {
  const CodeMapping* mapping = space.Find(ip);
  if (mapping == nullptr) return {.begin = ip, .end = ip + 1, .frames = {}, .scope = 0};
  const std::scoped_lock lock(files_->mutex);
  const Files::Known& file = files_->Of(mapping->section);
  const uint64_t base = mapping->FileBase();
  SourcePlace place = file.is_jit ? files_->FindJit(ip - base) : file.entry->lines->Find(ip - base);
  place.begin = std::max(place.begin + base, mapping->address);
  place.end = std::min(place.end + base, mapping->address + mapping->size);
  place.scope |= file.entry->number << 40;
  return place;
}

std::string_view SourceLines::Text(std::string_view file, uint32_t line) {
  const std::scoped_lock lock(files_->mutex);
  const std::string name(file);
  const auto [entry, is_new] = files_->sources.try_emplace(name);
  if (is_new && !file.empty()) {
    std::vector<std::string> places;
    if (const std::string& root = files_->search.symfs; !root.empty()) {
      places.push_back(UnderDirectory(root, NormalPath(name)));
      places.push_back(UnderDirectory(root, name));
    }
    places.push_back(name);
    for (const std::string& place : places) {
      bool is_other = false;
      for (const auto& [path, each] : files_->by_path)
        if (const auto md5 = each.lines->Md5Of(file))
          is_other = is_other || !each.lines->HasMd5(place, *md5);
      if (is_other || !entry->second.Read(place)) continue;
      break;
    }
  }
  return entry->second.Line(line);
}

void SourceLines::Keep() const {
  const std::scoped_lock lock(files_->mutex);
  for (const auto& [path, entry] : files_->by_path) entry.lines->Keep();
}

std::vector<std::string> SourceLines::Problems() const {
  const std::scoped_lock lock(files_->mutex);
  std::vector<std::string> problems;
  for (const auto& [path, entry] : files_->by_path)
    if (std::string problem = entry.lines->Problem(); !problem.empty())
      problems.push_back(std::move(problem));
  std::ranges::sort(problems);
  return problems;
}

}  // namespace flowback
