// SPDX-License-Identifier: MIT
#include "cli/options/help_text.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>
#include <vector>

#include "replay/writers/text/wrapped.h"

namespace flowback::cli {
namespace {

struct OptionWords {
  std::string_view command, option, value, heading;
};
constexpr OptionWords kWords[] = {
#define FLOWBACK_OPTION_WORDS(command, option, value, heading) {command, option, value, heading},
#include "cli/options/option_words.def"
#undef FLOWBACK_OPTION_WORDS
};

struct RareOption {
  std::string_view command, option;
};
constexpr RareOption kRare[] = {
#define FLOWBACK_RARE_OPTION(command, option) {command, option},
#include "cli/options/rare_options.def"
#undef FLOWBACK_RARE_OPTION
};

struct Example {
  std::string_view command, line, purpose;
};
constexpr Example kExamples[] = {
#define FLOWBACK_EXAMPLE(command, line, purpose) {command, line, purpose},
#include "cli/options/examples.def"
#undef FLOWBACK_EXAMPLE
};

constexpr std::string_view kRecord = "record";  // it reads no recording
constexpr std::string_view kProgram = "flowback ";
constexpr size_t kTextColumn = 26;

std::string_view CommandName(const CLI::App& app) {
  std::string_view name = app.get_name();
  if (name.starts_with(kProgram)) name.remove_prefix(kProgram.size());
  return name;
}

const OptionWords* WordsOf(std::string_view command, const CLI::Option& option) {
  for (const OptionWords& words : kWords)
    if ((words.command.empty() || words.command == command) &&
        option.check_name(std::string(words.option)))
      return &words;
  return nullptr;
}

bool IsRare(std::string_view command, const CLI::Option& option) {
  return std::ranges::any_of(kRare, [&](const RareOption& rare) {
    return (rare.command == command || (rare.command.empty() && command != kRecord)) &&
           option.check_name(std::string(rare.option));
  });
}

// Returns the word that stands for the option's value. CLI11 appends what a check allows, as in
// "N:UINT in [1 - 9]" and "MEASURE:{a,b}": the option's description says it in words.
std::string ValueOf(const CLI::Option& option) {
  std::string value = option.get_type_name();
  const size_t colon = value.rfind(':');
  if (colon == std::string::npos) return value;
  const std::string_view allowed = std::string_view(value).substr(colon + 1);
  if (allowed.starts_with('{') || allowed.find(" in [") != std::string_view::npos)
    value.resize(colon);
  return value;
}

// "-S, --snapshot", "[SIZE]": an option's names, and what kind of word it takes.
struct Spelling {
  std::string names, value;
};

Spelling Spell(const CLI::Option& option) {
  Spelling spelling;
  const auto add = [&](const std::string& name) {
    spelling.names += (spelling.names.empty() ? "" : ", ") + name;
  };
  for (const std::string& name : option.get_snames()) add("-" + name);
  for (const std::string& name : option.get_lnames()) add("--" + name);
  // INPUT, which a word without a dash is; its row may give it another name in this command.
  if (spelling.names.empty()) {
    const std::string value = ValueOf(option);
    spelling.names = value.empty() ? option.get_name() : value;
    return spelling;
  }
  if (option.get_items_expected_max() == 0) return spelling;
  const bool optional = option.get_items_expected_min() == 0;
  spelling.value = optional ? "[" + ValueOf(option) + "]" : ValueOf(option);
  return spelling;
}

using Section = std::pair<std::string, std::vector<const CLI::Option*>>;

// The visible options by heading, in order of each heading's first option; the common ones last.
std::vector<Section> Sections(const CLI::App& app) {
  constexpr std::string_view kLast = "Output";
  std::vector<Section> sections;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    auto section = std::ranges::find(sections, option->get_group(), &Section::first);
    if (section == sections.end())
      section = sections.insert(sections.end(), {option->get_group(), {}});
    section->second.push_back(option);
  }
  std::ranges::stable_partition(sections,
                                [&](const Section& section) { return section.first != kLast; });
  return sections;
}

std::string OptionText(const CLI::Option& option, size_t width) {
  const Spelling spelling = Spell(option);
  std::string text = "  " + spelling.names;
  if (!spelling.value.empty()) text += ' ' + spelling.value;
  if (text.size() + 1 >= kTextColumn)
    text += '\n' + std::string(kTextColumn, ' ');
  else
    text.resize(kTextColumn, ' ');
  const size_t left = width > kTextColumn + 20 ? width - kTextColumn : 20;
  return text + Wrapped(option.get_description(), kTextColumn, left) + '\n';
}

const Command& CommandOf(const CLI::App& app) { return *FindCommand(CommandName(app)); }

// What roff would take for its own.
std::string Roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else if ((c == '.' || c == '\'') && (escaped.empty() || escaped.back() == '\n'))
      escaped += std::string("\\&") + c;
    else
      escaped += c;
  }
  return escaped;
}

std::string Replaced(std::string text, char from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, 1, to);
  return text;
}

// A list of a line each, in one line.
std::string OneLine(std::string text) {
  if (const size_t lead = text.find(":\n"); lead != std::string::npos) text[lead + 1] = ' ';
  return Replaced(std::move(text), '\n', "; ");
}

std::string OptionRoff(const CLI::Option& option) {
  const Spelling spelling = Spell(option);
  std::string text = ".TP\n\\fB" + Roff(spelling.names) + "\\fR";
  if (!spelling.value.empty()) text += " \\fI" + Roff(spelling.value) + "\\fR";
  return text + '\n' + Replaced(Roff(option.get_description()), '\n', "\n.br\n") + '\n';
}

std::string ExamplesText(std::string_view command) {
  std::string text;
  for (const Example& example : kExamples)
    if (example.command == command)
      text += fmt::format("  {}\n      {}\n", example.line, example.purpose);
  return text.empty() ? text : "\nExamples:\n" + text;
}

std::string ExamplesRoff(std::string_view command) {
  std::string text;
  for (const Example& example : kExamples)
    if (example.command == command)
      text += fmt::format(".TP\n.B {}\n{}\n", Roff(example.line), Roff(example.purpose));
  return text.empty() ? text : ".SH EXAMPLES\n" + text;
}

struct ExitStatus {
  std::string_view command, text;
};
// The first row that fits counts.
constexpr ExitStatus kExitStatus[] = {
#define FLOWBACK_EXIT_STATUS(command, text) {command, text},
#include "cli/options/exit_status.def"
#undef FLOWBACK_EXIT_STATUS
};

std::string_view ExitStatusOf(std::string_view command) {
  for (const ExitStatus& status : kExitStatus)
    if (status.command.empty() || status.command == command) return status.text;
  return {};
}

}  // namespace

void DescribeOptions(CLI::App& app) {
  const std::string_view command = CommandName(app);
  for (CLI::Option* option : app.get_options()) {
    const OptionWords* words = WordsOf(command, *option);
    if (words == nullptr || option->get_group().empty()) continue;
    option->group(std::string(words->heading));
    if (option->get_items_expected_max() != 0) option->type_name(std::string(words->value));
  }
}

std::string HelpText(const CLI::App& app, size_t width, HelpExtent extent) {
  const Command& command = CommandOf(app);
  std::string text;
  std::string_view usages = command.usage;
  for (std::string_view lead = "usage: "; !usages.empty(); lead = "       ") {
    const size_t end = std::min(usages.find('\n'), usages.size());
    text += fmt::format("{}flowback {}{}{}\n", lead, command.name, end == 0 ? "" : " ",
                        usages.substr(0, end));
    usages.remove_prefix(std::min(end + 1, usages.size()));
  }
  text += '\n' + Wrapped(app.get_description(), 0, width) + '\n' + ExamplesText(command.name);
  size_t left_out = 0;
  for (const auto& [heading, options] : Sections(app)) {
    std::string section;
    for (const CLI::Option* option : options)
      if (extent == HelpExtent::kUsual && IsRare(command.name, *option))
        ++left_out;
      else
        section += OptionText(*option, width);
    if (!section.empty()) text += '\n' + heading + ":\n" + section;
  }
  // record's footer lists what each engine refuses.
  const std::string footer = app.get_footer();
  if (!footer.empty() && (left_out == 0 || command.name != kRecord))
    text += '\n' + Wrapped(footer, 0, width) + '\n';
  text +=
      '\n' + Wrapped(fmt::format("Exit status: {}", ExitStatusOf(command.name)), 0, width) + '\n';
  if (left_out != 0)
    text += fmt::format("\n{} more options: flowback {} --help-all\n", left_out, command.name);
  return text;
}

std::string TextsOf(const CLI::App& app) {
  const Command& command = CommandOf(app);
  std::string text = fmt::format("{}: {}\n{}: {}\n", command.name, command.summary, command.name,
                                 app.get_description());
  for (const auto& [heading, options] : Sections(app))
    for (const CLI::Option* option : options)
      text += fmt::format("{} {}: {}\n", command.name, Spell(*option).names,
                          OneLine(option->get_description()));
  for (const Example& example : kExamples)
    if (example.command == command.name)
      text += fmt::format("{}: {}: {}\n", command.name, example.line, example.purpose);
  return app.get_footer().empty() ? text
                                  : text + fmt::format("{}: {}\n", command.name, app.get_footer());
}

std::string ManualPage(const CLI::App& app) {
  const Command& command = CommandOf(app);
  std::string text = fmt::format(
      ".TH flowback\\-{} 1 \"\" flowback\n.SH NAME\nflowback\\-{} \\- {}\n.SH SYNOPSIS\n",
      command.name, command.name, Roff(command.summary));
  std::string_view usages = command.usage;
  while (true) {
    const size_t end = std::min(usages.find('\n'), usages.size());
    text += fmt::format(".B flowback {}\n{}\n", command.name,
                        end == 0 ? "" : Roff(usages.substr(0, end)));
    if (end == usages.size()) break;
    usages.remove_prefix(end + 1);
    text += ".br\n";
  }
  text += ".SH DESCRIPTION\n@DESCRIPTION@\n.SH OPTIONS\n";
  for (const auto& [heading, options] : Sections(app)) {
    text += ".SS " + heading + '\n';
    for (const CLI::Option* option : options) text += OptionRoff(*option);
  }
  text += ".SH EXIT STATUS\n" + Roff(ExitStatusOf(command.name)) + "\n";
  return text + ExamplesRoff(command.name) + ".SH SEE ALSO\n.BR flowback (1)\n";
}

}  // namespace flowback::cli
