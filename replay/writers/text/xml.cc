// SPDX-License-Identifier: MIT
#include "replay/writers/text/xml.h"

#include "replay/writers/text/printable.h"

namespace flowback {

std::string InMarkup(std::string_view printable) {
  std::string out;
  out.reserve(printable.size());
  for (const char c : printable) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string Xml(std::string_view text) { return InMarkup(Printable(text)); }

std::string XmlSource(std::string_view text) { return InMarkup(PrintableSource(text)); }

}  // namespace flowback
