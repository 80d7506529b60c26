// SPDX-License-Identifier: MIT
// Text in XML and HTML.
#pragma once

#include <string>
#include <string_view>

namespace flowback {

// Escapes printable text for an element or an attribute's value. What XML may not hold
// becomes "\xHH" or "\uHHHH", as in listings: bytes that are not UTF-8, control characters, U+FFFE
// and U+FFFF.
std::string InMarkup(std::string_view printable);
// `text` as it may stand in an element or in an attribute's value. Whatever an input names may
// stand there: what no printable text holds is written as in listings (printable.h).
std::string Xml(std::string_view text);
// Escapes a message, where backslashes stay.
std::string XmlProse(std::string_view text);
// Escapes a line of source, where tabs stay.
std::string XmlSource(std::string_view text);

}  // namespace flowback
