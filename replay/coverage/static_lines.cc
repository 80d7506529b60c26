// SPDX-License-Identifier: MIT
#include "replay/coverage/static_lines.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace flowback {
namespace {

// File names are few and repeat, mostly the name of the line before.
class FileNumbers {
 public:
  explicit FileNumbers(std::vector<std::string>& files) : files_(files) {}

  uint32_t Of(std::string_view file) {
    if (file.data() == last_.data() && file.size() == last_.size()) return number_;
    const auto [entry, is_new] =
        numbers_.try_emplace(std::string(file), static_cast<uint32_t>(files_.size()));
    if (is_new) files_.emplace_back(file);
    last_ = file;
    return number_ = entry->second;
  }

 private:
  std::vector<std::string>& files_;
  std::unordered_map<std::string, uint32_t> numbers_;
  std::string_view last_;
  uint32_t number_ = 0;
};

bool Continues(const StaticLine& before, const StaticLine& line) {
  return before.end == line.begin && before.file == line.file && before.line == line.line &&
         before.scope == line.scope && before.is_statement == line.is_statement;
}

}  // namespace

StaticLines StaticLines::Of(const ObjectImage& image, const StaticCode& code, SourceLines& lines) {
  StaticLines result;
  FileNumbers numbers(result.files_);
  SourcePlace place;
  uint64_t reached = 0;
  for (const StaticInstruction& instruction : code.instructions()) {
    const uint64_t end = instruction.address + instruction.length;
    if (end <= reached) continue;  // it lies within the one before
    const uint64_t begin = std::max(instruction.address, reached);
    if (begin < place.begin || begin >= place.end) place = lines.Find(image.space(), begin);
    reached = end;
    if (!place.known() || place.frames.front().line == 0) continue;
    const SourceFrame& frame = place.frames.front();
    const StaticLine line{.begin = begin,
                          .end = end,
                          .file = numbers.Of(frame.file),
                          .line = frame.line,
                          .scope = place.scope,
                          .is_inlined = frame.is_inlined,
                          .is_statement = place.is_statement};
    if (!result.lines_.empty() && Continues(result.lines_.back(), line))
      result.lines_.back().end = end;
    else
      result.lines_.push_back(line);
  }
  return result;
}

const StaticLine* StaticLines::At(uint64_t address) const {
  const auto after = std::ranges::upper_bound(lines_, address, {}, &StaticLine::begin);
  if (after == lines_.begin() || address >= after[-1].end) return nullptr;
  return &after[-1];
}

}  // namespace flowback
