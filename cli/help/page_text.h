// SPDX-License-Identifier: MIT
// Pages of help on a terminal, where Markdown links cannot be followed.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/help/topics.h"

namespace flowback::cli {

// Returns the page with a heading that names `word` in backquotes, as "# `decode`" does, or whose
// name ends in `word`. Null if the topic has none.
const TopicPage* FindPage(const Topic& topic, std::string_view word);

// Returns the page's text. A link to another page becomes the command that prints the page, or the
// page's file below docs/ if no topic has it; a link to the web has its address. Pictures are left
// out. `topics` are all topics.
std::string PageText(const TopicPage& page, std::span<const Topic> topics);

}  // namespace flowback::cli
