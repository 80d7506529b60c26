// SPDX-License-Identifier: MIT
#include "cli/report/output_lines.h"

#include <sys/types.h>

#include <algorithm>
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
  constexpr size_t kFirst = size_t{64} << 10;
  std::string text;
  while (text.size() < most) {
    const size_t before = text.size();
    text.resize(std::min(most, std::max(2 * before, kFirst)));
    const size_t size = std::fread(text.data() + before, 1, text.size() - before, file);
    text.resize(before + size);
    if (size == 0) break;
  }
  return text;
}

}  // namespace flowback::cli
