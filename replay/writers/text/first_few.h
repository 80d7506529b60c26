// SPDX-License-Identifier: MIT
// Names the first few of many values.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace flowback {

inline constexpr size_t kNamedFirst = 5;

// Returns "a, b, c, d, e and 3 more": the first kNamedFirst values, and how many follow them.
// `before_rest` stands between the two.
template <class Values>
std::string FirstFew(const Values& values, std::string_view before_rest = " and ") {
  std::string text;
  size_t count = 0;
  for (const auto& value : values)
    if (count++ < kNamedFirst) text += fmt::format("{}{}", text.empty() ? "" : ", ", value);
  if (count > kNamedFirst) text += fmt::format("{}{} more", before_rest, count - kNamedFirst);
  return text;
}

}  // namespace flowback
