// SPDX-License-Identifier: MIT
// The documents that help names, inside the program: there is no wrong place to look for them.
#pragma once

#include <span>
#include <string_view>

namespace flowback::cli {

// One file of docs/.
struct TopicPage {
  std::string_view name;  // its place in docs/, without ".md": "reference/decode"
  std::string_view text;  // Markdown
};

struct Topic {
  std::string_view name;
  std::string_view summary;
  std::span<const TopicPage> pages;  // at least one
};

std::span<const Topic> Topics();

}  // namespace flowback::cli
