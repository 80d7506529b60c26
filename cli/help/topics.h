// SPDX-License-Identifier: MIT
// The documents that help names, inside the program: there is no wrong place to look for them.
#pragma once

#include <span>
#include <string_view>

namespace flowback::cli {

struct Topic {
  std::string_view name;
  std::string_view summary;
  std::string_view text;  // Markdown
};

std::span<const Topic> Topics();

}  // namespace flowback::cli
