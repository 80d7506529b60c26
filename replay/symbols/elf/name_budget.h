// SPDX-License-Identifier: MIT
// Copies of a file's names, in memory that is in proportion to the file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace flowback::symbols {

// Names share the bytes of a string table: a hundred thousand of them may each reach to the end of
// the same megabyte. A linker lets them share ends only, so all names of a true file together are
// about as long as its tables.
class NameBudget {
 public:
  explicit NameBudget(size_t file_size) : rest_(kFree + 4 * file_size) {}

  // The name, or its beginning and "..." where it is too long to be one or there is no room.
  std::string Take(std::string_view name) {
    const size_t most = name.size() <= rest_ ? kLongest : kShortened;
    const bool cut = name.size() > most;
    std::string text(name.substr(0, most));
    if (cut) text += "...";
    rest_ -= std::min(rest_, text.size());
    return text;
  }

 private:
  static constexpr size_t kFree = size_t{16} << 20;
  static constexpr size_t kLongest = size_t{16} << 10;
  static constexpr size_t kShortened = 64;

  size_t rest_;
};

}  // namespace flowback::symbols
