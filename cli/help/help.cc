// SPDX-License-Identifier: MIT
// `flowback help`, and the table of subcommands it prints.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "base/path_text.h"
#include "cli/command.h"
#include "cli/help/page_text.h"
#include "cli/help/topics.h"
#include "cli/options/arguments.h"
#include "cli/text/output.h"
#include "cli/text/status.h"
#include "cli/text/suggestion.h"

namespace flowback::cli {
namespace {

constexpr Command kCommands[] = {
#define FLOWBACK_COMMAND(name, function, summary, usage) {name, function, summary, usage},
#include FLOWBACK_COMMANDS_TABLE
#undef FLOWBACK_COMMAND
};

constexpr std::pair<std::string_view, std::string_view> kLossTexts[] = {
#define FLOWBACK_LOSS(name, kind, text, remedy) {text, remedy},
#include "flowback/model/loss_causes.def"
#undef FLOWBACK_LOSS
};

constexpr std::string_view kFirstForDevelopers = "resync";  // and the topics behind it

std::string AllText() {
  std::string text =
      "flowback shows what a program executed: record it, then ask why it crashed, was slow or "
      "waited\n\n"
      "usage: flowback COMMAND [options] INPUT\n\n"
      "commands:\n";
  for (const Command& command : kCommands)
    text += fmt::format("  {:<9} {}\n", command.name, command.summary);
  text += "\n`flowback help COMMAND` lists a command's options. Topics of `flowback help TOPIC`:\n";
  for (const Topic& topic : Topics()) {
    if (topic.name == kFirstForDevelopers) text += "\nTopics for developers of flowback:\n";
    text += fmt::format("  {:<11} {}\n", topic.name, topic.summary);
  }
  return text +
         "\n`flowback help output COMMAND` describes the output of one command.\n"
         "\nExit status: 0 done; 1 failed, or a limit that an option sets; 2 wrong usage; 3 no "
         "such\n"
         "hardware; 4 no permission; 5 device busy; 8 input unreadable. With --strict: 6 if "
         "anything\n"
         "was lost, 7 if a file that ran is missing. `record -- CMD` and `coverage -- CMD` end "
         "with\n"
         "the status of CMD; 125 flowback failed, 126 and 127 CMD cannot be run.\n";
}

const Topic* FindTopic(std::string_view name) {
  const auto topic = std::ranges::find(Topics(), name, &Topic::name);
  return topic == Topics().end() ? nullptr : &*topic;
}

Error NothingToHelpWith(std::string_view name) {
  std::vector<std::string> known;
  for (const Command& command : kCommands) known.emplace_back(command.name);
  for (const Topic& topic : Topics()) known.emplace_back(topic.name);
  return Error(ErrorCode::kUsage,
               fmt::format("no command '{}'{}, and no topic", name, DidYouMean(name, known)))
      .Remedy("flowback help");
}

Error HasNoPages(std::string_view command) {
  return Error(ErrorCode::kUsage,
               fmt::format("'{}' is a command, and only topics have pages", command))
      .Remedy(fmt::format("flowback help output {}", command));
}

// All pages of a topic, or the one that `section` names.
int PrintTopic(const Topic& topic, const std::string& section) {
  if (!section.empty()) {
    const TopicPage* const page = FindPage(topic, section);
    if (page != nullptr) return Print(PageText(*page, Topics()));
    std::vector<std::string> known;
    for (const TopicPage& one : topic.pages) known.emplace_back(LastPart(one.name));
    return Report(
        Error(ErrorCode::kUsage, fmt::format("the topic '{}' has no page '{}'{}", topic.name,
                                             section, DidYouMean(section, known)))
            .Remedy(fmt::format("flowback help {}, or a page of it: {}", topic.name,
                                fmt::join(known, ", "))));
  }
  std::string text;
  for (const TopicPage& page : topic.pages) text += PageText(page, Topics()) + '\n';
  return Print(text);
}

// Every text of the tables that people read, one a line, for reviewers.
int PrintAllTexts() {
  for (const Command& command : kCommands)
    if (command.run != RunHelp)
      if (const int status = command.run({"--texts"}); status != kDone) return status;
  std::string text;
  for (const Topic& topic : Topics())
    text += fmt::format("topic {}: {}\n", topic.name, topic.summary);
  for (const auto& [loss, remedy] : kLossTexts) text += fmt::format("loss: {}: {}\n", loss, remedy);
  return Print(text);
}

}  // namespace

std::span<const Command> Commands() { return kCommands; }

const Command* FindCommand(std::string_view name) {
  for (const Command& command : kCommands)
    if (command.name == name) return &command;
  return nullptr;
}

Error UnknownCommand(std::string_view name) {
  std::vector<std::string> known;
  for (const Command& command : kCommands) known.emplace_back(command.name);
  return Error(ErrorCode::kUsage, fmt::format("no command '{}'{}", name, DidYouMean(name, known)))
      .Remedy("flowback help");
}

int RunHelp(const Arguments& arguments) {
  if (arguments == Arguments{"--texts"}) return PrintAllTexts();
  CLI::App app("Lists the commands, the options of one, or prints a topic.", "flowback help");
  std::string word;
  std::string section;
  app.add_option("WORD", word, "Command or topic; without it, both are listed");
  app.add_option("PAGE", section, "A page of the topic, as in `flowback help output decode`");
  if (const std::optional<int> status = Parse(app, arguments)) return *status;
  if (word.empty()) return Print(AllText());
  if (const Command* command = FindCommand(word))
    return section.empty() ? command->run({"--help"}) : Report(HasNoPages(word));
  if (const Topic* topic = FindTopic(word)) return PrintTopic(*topic, section);
  return Report(NothingToHelpWith(word));
}

}  // namespace flowback::cli
