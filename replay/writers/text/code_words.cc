// SPDX-License-Identifier: MIT
#include "replay/writers/text/code_words.h"

#include <fmt/format.h>

#include "base/path_text.h"
#include "flowback/decode/code_image.h"
#include "replay/writers/text/printable.h"
#include "replay/writers/timeline/timeline_view.h"

namespace flowback {
namespace {

constexpr size_t kMostName = 80;   // columns for a function's name
constexpr size_t kShortName = 48;  // a longer one loses what stands in brackets

// Returns how many bytes stand between a bracket, which `name` follows, and the one that closes it.
size_t LengthInside(std::string_view name, char open, char close) {
  size_t depth = 1;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == open) ++depth;
    if (name[i] == close && --depth == 0) return i;
  }
  return name.size();
}

// Replaces what stands between the outermost pairs of two brackets by dots. What stands between the
// brackets of "operator()" and of "(anonymous namespace)" is no parameter, and stays.
std::string WithoutInside(std::string_view name, char open, char close) {
  std::string text;
  while (!name.empty()) {
    text += name.front();
    const bool opens = name.front() == open;
    name.remove_prefix(1);
    if (!opens) continue;
    const size_t length = LengthInside(name, open, close);
    const std::string_view inside = name.substr(0, length);
    text += inside.empty() || inside == "anonymous namespace" ? inside : "...";
    name.remove_prefix(length);
  }
  return text;
}

}  // namespace

size_t OwnFrame(const SourcePlace& place) {
  for (size_t i = 0; i < place.frames.size(); ++i) {
    const SourceFrame& frame = place.frames[i];
    if (!frame.file.empty() && frame.line != 0 && !frame.file.starts_with("/usr/")) return i;
  }
  return 0;
}

std::string ShortName(std::string_view name) {
  std::string text(name);
  if (text.size() > kShortName && text.find("operator<") == std::string::npos &&
      text.find("operator>") == std::string::npos && text.find("operator-") == std::string::npos)
    text = WithoutInside(text, '<', '>');
  if (text.size() > kShortName) text = WithoutInside(text, '(', ')');
  return NameWords(text, kMostName);
}

std::string CodeWords::LineOrPlace() const {
  if (has_line()) return fmt::format("{}:{}", LastPart(file), line);
  if (!object.empty()) return fmt::format("{}+{:#x}", object, place);
  return fmt::format("{:#x}", place);
}

std::string CodeWords::Full() const {
  if (function.empty()) return LineOrPlace();
  const std::string symbol = fmt::format("{}+{:#x}", function, offset);
  return has_line() ? fmt::format("{}, {}", symbol, LineOrPlace())
                    : fmt::format("{}, {}", symbol, object);
}

CodeWords WordsOf(const NameSources& names, const AddressSpace* space, uint64_t ip) {
  CodeWords words{
      .function = {}, .offset = 0, .file = {}, .line = 0, .object = {}, .code = {}, .place = ip};
  if (space == nullptr) return words;
  if (const CodeMapping* mapping = space->Find(ip)) {
    words.object = Printable(LastPart((*names.recorded_path)(mapping->section->name())));
    words.code = mapping->section->name();
    words.place = ip - mapping->FileBase();
  }
  if (const auto symbol = names.symbolizer->Find(*space, ip)) {
    words.function = ShortName(symbol->function);
    words.offset = symbol->offset;
  }
  const SourcePlace place = names.lines->Find(*space, ip);
  if (place.known()) {
    const SourceFrame& frame = place.frames[OwnFrame(place)];
    words.file = Printable(frame.file);
    words.line = frame.line;
  }
  return words;
}

}  // namespace flowback
