// SPDX-License-Identifier: MIT
#include "cli/branches/place_text.h"

#include <fmt/format.h>

#include "base/path_text.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {

std::string PlaceText(CodeSymbols& names, const AddressSpace* space, uint64_t address,
                      std::string_view object) {
  std::string name = fmt::format("{:#x}", address);
  if (space == nullptr) return name;
  if (const auto symbol = names.symbolizer.Find(*space, address))
    name = fmt::format("{}+{:#x}", Printable(symbol->name), symbol->offset);
  const SourcePlace at = names.lines.Find(*space, address);
  if (!object.empty()) name += fmt::format(" ({})", Printable(LastPart(object)));
  if (at.known() && at.frames.front().line != 0)
    name += fmt::format(" at {}:{}", Printable(LastPart(at.frames.front().file)),
                        at.frames.front().line);
  return name;
}

void AddSymbolJson(CodeSymbols& names, const AddressSpace* space, uint64_t address,
                   JsonLine& line) {
  const auto symbol = space == nullptr ? std::nullopt : names.symbolizer.Find(*space, address);
  if (symbol)
    line.Text("sym", symbol->name).Hex("symoff", symbol->offset);
  else
    line.Null("sym").Null("symoff");
}

void AddObjectJson(std::string_view object, uint64_t offset, JsonLine& line) {
  if (!object.empty())
    line.Text("object", object).Hex("offset", offset);
  else
    line.Null("object").Null("offset");
}

void AddSourceJson(CodeSymbols& names, const AddressSpace* space, uint64_t address,
                   JsonLine& line) {
  const SourcePlace at = space == nullptr ? SourcePlace() : names.lines.Find(*space, address);
  if (at.known())
    line.Text("file", at.frames.front().file).Number("line", at.frames.front().line);
  else
    line.Null("file").Null("line");
}

std::string Share(uint64_t part, uint64_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{:.1f}%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace flowback::cli
