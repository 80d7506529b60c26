// SPDX-License-Identifier: MIT
// A command's help, on the terminal and as a manual page, from the options as they are declared and
// cli/options/option_words.def. Both have one source, so that neither can lack a part of the other.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/command.h"

namespace CLI {
class App;
}

namespace flowback::cli {

// Gives each option of the command its kind of value and its heading.
void DescribeOptions(CLI::App& app);

// Which options help lists: --help leaves out those of cli/options/rare_options.def.
enum class HelpExtent { kUsual, kAll };

// Usage, examples, and the options under their headings, in lines of at most `width` columns (where
// words allow it).
std::string HelpText(const CLI::App& app, size_t width, HelpExtent extent);

// Every text that help prints of the command, one a line, for reviewers.
std::string TextsOf(const CLI::App& app);

// The page in roff, of section 1. The line "@DESCRIPTION@" stands where the prose belongs.
std::string ManualPage(const CLI::App& app);

}  // namespace flowback::cli
