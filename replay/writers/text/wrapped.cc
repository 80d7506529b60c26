// SPDX-License-Identifier: MIT
#include "replay/writers/text/wrapped.h"

#include <algorithm>

namespace flowback {

std::string Wrapped(std::string_view text, size_t indent, size_t width) {
  std::string wrapped;
  size_t column = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    if (column != 0 && column + 1 + word.size() > width) {
      wrapped += '\n' + std::string(indent, ' ');
      column = 0;
    }
    if (column != 0) {
      wrapped += ' ';
      ++column;
    }
    wrapped += word;
    column += word.size();
    if (end < text.size() && text[end] == '\n') {
      wrapped += '\n' + std::string(indent, ' ');
      column = 0;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return wrapped;
}

}  // namespace flowback
