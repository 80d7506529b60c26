// SPDX-License-Identifier: MIT
// Parsing with CLI11, its exceptions kept inside.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "flowback/base/error.h"

namespace CLI {
class App;
}

namespace flowback::cli {

// Parses into the variables bound to `app`. Empty: go on; else the exit status to end with, after
// the help or the usage message has been printed.
std::optional<int> Parse(CLI::App& app, const Arguments& arguments);

// Parses an unfinished line without printing anything. False: it cannot be parsed.
bool ParseQuietly(CLI::App& app, const Arguments& arguments);

// An option that may be repeated and takes exactly one word each time.
void AddRepeatable(CLI::App& app, const std::string& names, std::vector<std::string>& words,
                   const std::string& help);

// A decimal or 0x-hexadecimal number; empty when `text` is anything else or too large.
std::optional<uint64_t> ParseNumber(std::string_view text);

// "1,2,5-7". Errors: kUsage, naming `option`.
Result<std::vector<int32_t>> ParseNumberList(const std::string& text, const std::string& option);

// "a,b,c" without empty words.
std::vector<std::string> SplitAtCommas(const std::string& text);

}  // namespace flowback::cli
