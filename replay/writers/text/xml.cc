// SPDX-License-Identifier: MIT
#include "replay/writers/text/xml.h"

#include "replay/writers/text/printable.h"

namespace flowback {
namespace {

// The characters of XML 1.0. FirstUnit calls surrogates invalid.
bool IsOfXml(const TextUnit& unit) {
  if (!unit.valid || unit.code == 0xfffe || unit.code == 0xffff) return false;
  return unit.code >= 0x20 || unit.code == '\t' || unit.code == '\n' || unit.code == '\r';
}

std::string_view EntityOf(uint32_t code) {
  switch (code) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    default:
      return {};
  }
}

}  // namespace

std::string InMarkup(std::string_view printable) {
  std::string out;
  out.reserve(printable.size());
  while (!printable.empty()) {
    const TextUnit unit = FirstUnit(printable);
    if (const std::string_view entity = EntityOf(unit.code); unit.valid && !entity.empty())
      out += entity;
    else if (IsOfXml(unit))
      out += printable.substr(0, unit.length);
    else
      AppendUnit(out, unit);
    printable.remove_prefix(unit.length);
  }
  return out;
}

std::string Xml(std::string_view text) { return InMarkup(Printable(text)); }

std::string XmlProse(std::string_view text) { return InMarkup(PrintableProse(text)); }

std::string XmlSource(std::string_view text) { return InMarkup(PrintableSource(text)); }

}  // namespace flowback
