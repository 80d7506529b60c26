// SPDX-License-Identifier: MIT
#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "cli/arguments.h"

namespace flowback::cli {

bool IsTerminal(int descriptor) { return isatty(descriptor) == 1; }

size_t TerminalWidth(int descriptor) {
  constexpr size_t kUsual = 80, kLeast = 20, kMost = 10'000;
  const auto fits = [](size_t columns) { return columns >= kLeast && columns <= kMost; };
  if (const char* columns = std::getenv("COLUMNS"))
    if (const auto number = ParseNumber(columns); number && fits(*number)) return *number;
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && fits(size.ws_col)) return size.ws_col;
  return kUsual;
}

}  // namespace flowback::cli
