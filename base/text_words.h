// SPDX-License-Identifier: MIT
// Text taken apart: lines, their words, numbers.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

#include "flowback/base/bytes.h"

namespace flowback {

// Longer lines are none that a person or a tool wrote for us.
inline constexpr uint64_t kLongestLine = 1 << 16;

// The rest of a line, taken word by word.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}

  // Returns the next word; empty: no word is left.
  std::string_view Next() {
    const size_t begin = std::min(rest_.find_first_not_of(" \t\r"), rest_.size());
    rest_.remove_prefix(begin);
    const std::string_view word = rest_.substr(0, rest_.find_first_of(" \t\r"));
    rest_.remove_prefix(word.size());
    return word;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// With or without 0x; all of it.
inline std::optional<uint64_t> Number(std::string_view text, int base) {
  if (base == 16 && text.starts_with("0x")) text.remove_prefix(2);
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc() || stopped != end || text.empty()) return std::nullopt;
  return value;
}

// Returns the text without white space at its begin and end.
inline std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kWhite = " \t\r\n\f\v";
  const size_t first = text.find_first_not_of(kWhite);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kWhite) - first + 1);
}

inline bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == line.npos || line.starts_with('#');
}

// Calls visit(line, number) for each line until it returns false.
template <class Visit>
void ForEachLine(std::string_view text, Visit&& visit) {
  for (uint64_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (!visit(line, number)) return;
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
}
template <class Visit>
void ForEachLine(Bytes bytes, Visit&& visit) {
  ForEachLine(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), visit);
}

}  // namespace flowback
