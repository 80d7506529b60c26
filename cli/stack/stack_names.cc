// SPDX-License-Identifier: MIT
#include "cli/stack/stack_names.h"

#include <fmt/format.h>

#include <iterator>

#include "base/path_text.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {

namespace {

// Code that was moved behind its function is named as the function.
void NameWhole(const StackFrame& frame, uint64_t at, const Symbolizer::Symbol& symbol,
               NamedFrame& named) {
  const CodeMapping* mapping = frame.space->Find(at);
  if (!symbol.whole || mapping == nullptr || symbol.function.size() == symbol.name.size()) return;
  const uint64_t whole = mapping->FileBase() + *symbol.whole;
  if (whole > at) return;
  named.function = symbol.function;
  named.offset = frame.address - whole;
}

}  // namespace

std::vector<NamedFrame> StackNames::Of(const StackFrame& frame) {
  NamedFrame own;
  if (frame.space == nullptr || frame.address == 0) return {own};
  const uint64_t at = frame.is_exact ? frame.address : frame.address - 1;
  if (const CodeMapping* mapping = frame.space->Find(at))
    own.object = recorded_path_(mapping->section->name());
  if (const auto symbol = symbolizer_.Find(*frame.space, at)) {
    own.function = symbol->name;
    own.offset = symbol->offset + (frame.address - at);
    NameWhole(frame, at, *symbol, own);
  }
  std::vector<NamedFrame> named;
  const SourcePlace place = lines_.Find(*frame.space, at);
  for (const SourceFrame& source : place.frames) {
    NamedFrame each = own;
    if (source.is_inlined) each.function = source.function;
    each.file = source.file;
    each.line = source.line;
    each.is_inlined = source.is_inlined;
    named.push_back(each);
  }
  if (named.empty() || named.back().is_inlined) named.push_back(own);
  // The symbol table names all but what was inlined; a stripped file's debug information may know.
  if (named.back().function.empty() && !place.frames.empty())
    named.back().function = place.frames.back().function;
  return named;
}

void AppendFrameText(const NamedFrame& named, const StackFrame& frame, bool innermost,
                     std::string& out) {
  // An inlined call has no address of its own, but that of what goes on is the innermost one's.
  if (innermost) {
    fmt::format_to(std::back_inserter(out), "0x{:016x} in ", frame.address);
  } else {
    out.append(22, ' ');
  }
  AppendPrintable(out, named.function.empty() ? "??" : named.function);
  if (!named.file.empty()) {
    out += " (";
    AppendPrintable(out, LastPart(named.file));
    out += named.line == 0 ? ":?)" : fmt::format(":{})", named.line);
  } else if (!named.object.empty()) {
    if (!named.function.empty()) fmt::format_to(std::back_inserter(out), "+{:#x}", named.offset);
    out += " (";
    AppendPrintable(out, LastPart(named.object));
    out += ')';
  }
  if (named.is_inlined) out += " inlined";
  if (frame.is_guess) out += " (guess)";
}

void TextOrNull(JsonLine& line, std::string_view key, std::string_view text) {
  if (text.empty())
    line.Null(key);
  else
    line.Text(key, text);
}

void AddNames(const NamedFrame& named, JsonLine& line) {
  TextOrNull(line, "function", named.function);
  if (named.function.empty() || named.is_inlined)
    line.Null("offset");
  else
    line.Number("offset", named.offset);
  TextOrNull(line, "object", named.object);
  TextOrNull(line, "file", named.file);
  if (named.line == 0)
    line.Null("line");
  else
    line.Number("line", named.line);
  line.Bool("inlined", named.is_inlined);
}

}  // namespace flowback::cli
