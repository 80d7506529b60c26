// SPDX-License-Identifier: MIT
#include "cli/text/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace flowback::cli {

bool IsTerminal(int descriptor) { return isatty(descriptor) == 1; }

size_t TerminalWidth(int descriptor, size_t otherwise) {
  constexpr size_t kLeast = 20, kMost = 10'000;
  const auto fits = [](size_t columns) { return columns >= kLeast && columns <= kMost; };
  if (const char* columns = std::getenv("COLUMNS")) {
    const std::string_view text = columns;
    size_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    if (fits(number)) return number;
  }
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && fits(size.ws_col)) return size.ws_col;
  return otherwise;
}

}  // namespace flowback::cli
