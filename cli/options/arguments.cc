// SPDX-License-Identifier: MIT
#include "cli/options/arguments.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>

#include "cli/options/help_text.h"
#include "cli/text/output.h"
#include "cli/text/status.h"
#include "cli/text/suggestion.h"
#include "cli/text/terminal.h"
#include "cli/text/terminal_session.h"

namespace flowback::cli {

namespace {

// Hidden options: the build and reviewers read these.
constexpr std::string_view kManualPage = "--manual-page";
constexpr std::string_view kTexts = "--texts";  // flowback help --texts

std::vector<std::string> Spellings(const CLI::App& app) {
  std::vector<std::string> all;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) all.push_back("--" + name);
  }
  return all;
}

// The word that the parser knew nothing to do with. It is named without its value.
std::string UnknownWord(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining();
  const auto option = std::ranges::find_if(
      words, [](const std::string& word) { return word.size() > 1 && word[0] == '-'; });
  if (option == words.end()) return words.empty() ? std::string() : words[0];
  return option->substr(0, option->find('='));
}

Error UnknownWordError(const CLI::App& app, std::string_view command) {
  const std::string word = UnknownWord(app);
  if (!word.starts_with('-'))
    return Error(ErrorCode::kUsage, fmt::format("{}: '{}' is one word too many", command, word));
  return Error(ErrorCode::kUsage,
               fmt::format("{}: no option {}{}", command, word, DidYouMean(word, Spellings(app))));
}

// What a recorded program prints is its own, so `record` has no pager; other commands do.
void AddCommonOptions(CLI::App& app, std::string_view command, TerminalOptions& terminal) {
  app.set_help_flag("-h,--help", "Print the usual options");
  app.set_help_all_flag("--help-all", "Print all options");
  app.add_flag("-v,--verbose", terminal.verbose, "Print more about how the work was done");
  app.add_flag("-q,--quiet", terminal.quiet, "Print no messages except errors");
  app.add_option(
      "--color", terminal.color,
      "Use colours: auto (default: on a terminal, unless $NO_COLOR is set), always or never");
  if (command == "record") return;
  terminal.pages = true;
  app.add_flag("!--no-pager", terminal.pages,
               "Do not use a pager on a terminal ($FLOWBACK_PAGER, else $PAGER, else less)");
}

}  // namespace

std::optional<int> Parse(CLI::App& app, const Arguments& arguments) {
  std::string name = app.get_name();
  if (name.starts_with("flowback ")) name.erase(0, 9);
  TerminalOptions terminal;
  AddCommonOptions(app, name, terminal);
  DescribeOptions(app);
  if (arguments.size() == 1 && arguments[0] == kManualPage) return Print(ManualPage(app));
  if (arguments.size() == 1 && arguments[0] == kTexts) return Print(TextsOf(app));
  const auto help = [&](HelpExtent extent) {
    static_cast<void>(BeginTerminalSession({.pages = true}));
    return Print(HelpText(app, TerminalWidth(STDOUT_FILENO), extent));
  };
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    if (Status status = BeginTerminalSession(terminal); !status) return Report(status.error());
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    return help(HelpExtent::kUsual);
  } catch (const CLI::CallForAllHelp&) {
    return help(HelpExtent::kAll);
  } catch (const CLI::ExtrasError&) {
    return Report(UnknownWordError(app, name).Remedy(fmt::format("flowback help {}", name)));
  } catch (const CLI::ParseError& error) {
    std::string message = error.what();
    std::ranges::replace(message, '\n', ' ');
    return Report(Error(ErrorCode::kUsage, fmt::format("{}: {}", name, message))
                      .Remedy(fmt::format("flowback help {}", name)));
  }
}

bool ParseQuietly(CLI::App& app, const Arguments& arguments) {
  TerminalOptions terminal;
  AddCommonOptions(app, app.get_name(), terminal);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    return true;
  } catch (const CLI::Error&) {
    return false;
  }
}

void AddRepeatable(CLI::App& app, const std::string& names, std::vector<std::string>& words,
                   const std::string& help) {
  app.add_option(names, words, help)->allow_extra_args(false);
}

std::optional<uint64_t> ParseNumber(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value, base);
  if (text.empty() || code != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> words;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    if (comma > begin) words.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return words;
}

Result<std::vector<int32_t>> ParseNumberList(const std::string& text, const std::string& option) {
  constexpr uint64_t kLargest = 1 << 22;  // the kernel's own limit on thread ids and CPUs
  std::vector<int32_t> numbers;
  for (const std::string& word : SplitAtCommas(text)) {
    const size_t dash = word.find('-');
    const auto first = ParseNumber(word.substr(0, dash));
    const auto last = dash == std::string::npos ? first : ParseNumber(word.substr(dash + 1));
    if (!first || !last || *last < *first || *last > kLargest)
      return Fail(
          Error(ErrorCode::kUsage, fmt::format("{}: '{}' is no number or range", option, word))
              .Remedy(fmt::format("{} 0,2,4-7", option)));
    for (uint64_t i = *first; i <= *last; ++i) numbers.push_back(static_cast<int32_t>(i));
  }
  return numbers;
}

}  // namespace flowback::cli
