// SPDX-License-Identifier: MIT
// `flowback help`, and the table of subcommands it prints.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/status.h"
#include "cli/suggestion.h"

namespace flowback::cli {
namespace {

constexpr Command kCommands[] = {
#define FLOWBACK_COMMAND(name, function, summary, usage) {name, function, summary, usage},
#include "cli/commands.def"
#undef FLOWBACK_COMMAND
};

int ListCommands() {
  Output output;
  output.Write(
      "flowback: what exactly did a program execute, from hardware branch traces\n\n"
      "usage: flowback COMMAND [options] INPUT\n\n"
      "commands:\n");
  for (const Command& command : kCommands)
    output.Write(fmt::format("  {:<9} {}\n", command.name, command.summary));
  output.Write(
      "\n`flowback help COMMAND` lists a command's options.\n"
      "Exit status: 0 done; 1 failed; 2 wrong usage; 3 no such hardware; 4 no permission;\n"
      "5 device busy; 6 finished with losses and 7 an image is missing (both under --strict);\n"
      "8 input unreadable.\n");
  const Status written = output.Finish();
  return written ? int{kDone} : Report(written.error());
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
  if (arguments.empty() || arguments[0].starts_with('-')) return ListCommands();
  const Command* command = FindCommand(arguments[0]);
  if (command == nullptr) return Report(UnknownCommand(arguments[0]));
  if (command->run == &RunHelp) return ListCommands();
  return command->run({"--help"});
}

}  // namespace flowback::cli
