// SPDX-License-Identifier: MIT
#include "cli/text/xml.h"

#include "cli/text/printable.h"

namespace flowback::cli {
namespace {

std::string InMarkup(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
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

}  // namespace

std::string Xml(std::string_view text) { return InMarkup(Printable(text)); }

std::string XmlSource(std::string_view text) { return InMarkup(PrintableSource(text)); }

}  // namespace flowback::cli
