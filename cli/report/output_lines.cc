// SPDX-License-Identifier: MIT
#include "cli/report/output_lines.h"

#include <sys/types.h>

#include <cstdlib>

namespace flowback::cli {

void ForEachLine(std::FILE* file, const std::function<void(std::string_view line)>& take) {
  constexpr size_t kLongestLine = size_t{16} << 20;
  char* line = nullptr;
  size_t room = 0;
  for (ssize_t size = 0; (size = getline(&line, &room, file)) > 0;) {
    std::string_view text(line, static_cast<size_t>(size));
    if (text.ends_with('\n')) text.remove_suffix(1);
    if (text.size() <= kLongestLine) take(text);
  }
  std::free(line);
}

std::string TextOf(std::FILE* file, size_t most) {
  std::string text(most, '\0');
  text.resize(std::fread(text.data(), 1, most, file));
  return text;
}

}  // namespace flowback::cli
