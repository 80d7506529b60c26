// SPDX-License-Identifier: MIT
#include "replay/writers/spikes/page_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text_words.h"
#include "replay/writers/text/printable.h"

namespace flowback {
namespace {

constexpr size_t kMostBytes = 300;  // of a line
constexpr uint32_t kAround = 6;     // lines before the place, and as many after it

std::string WhyNoLine(const CodeWords& place) {
  if (place.object.empty()) return "No file of code is mapped there.";
  return place.object + " has no debug information of this place: its source lines are not known.";
}

// The lines as they stand in the file, where it is the one that SourceLines reads; else without the
// space around them.
void AddLines(SourceLines& lines, SourceReader& reader, SourceExcerpt& excerpt) {
  const std::vector<std::string>& text = reader.Lines(excerpt.file);
  const std::string_view known = lines.Text(excerpt.file, excerpt.line);
  const bool is_same =
      excerpt.line <= text.size() && Trimmed(text[excerpt.line - 1]) == Trimmed(known);
  const uint32_t last = excerpt.line + kAround;
  for (uint32_t i = excerpt.first; i <= last; ++i) {
    if (is_same && i > text.size()) break;
    excerpt.lines.push_back(
        PrintableSource((is_same ? std::string_view(text[i - 1]) : lines.Text(excerpt.file, i))
                            .substr(0, kMostBytes)));
  }
  while (!excerpt.lines.empty() && excerpt.lines.back().empty()) excerpt.lines.pop_back();
}

}  // namespace

SourceExcerpt ExcerptAt(SourceLines& lines, SourceReader& reader, const CodeWords& place) {
  SourceExcerpt excerpt{
      .file = place.file, .line = place.line, .first = 0, .lines = {}, .note = {}};
  if (!place.has_line()) {
    excerpt.note = WhyNoLine(place);
    return excerpt;
  }
  excerpt.first = excerpt.line > kAround ? excerpt.line - kAround : 1;
  if (lines.Text(excerpt.file, excerpt.line).empty()) {
    const bool is_there = excerpt.line <= reader.Lines(excerpt.file).size();
    excerpt.note =
        excerpt.file + (is_there ? " is not the version that was compiled: it is not shown."
                                 : " cannot be read here.");
    return excerpt;
  }
  AddLines(lines, reader, excerpt);
  if (IsNewer(reader.Find(excerpt.file), place.code))
    excerpt.note = fmt::format("{} was changed after {} was built: lines may have moved.",
                               excerpt.file, place.object);
  return excerpt;
}

}  // namespace flowback
