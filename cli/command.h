// SPDX-License-Identifier: MIT
// The table of subcommands and what each gets.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/base/error.h"

// A test has a table of its own, which includes this one and has more rows.
#ifndef FLOWBACK_COMMANDS_TABLE
#define FLOWBACK_COMMANDS_TABLE "cli/commands.def"
#endif

namespace flowback::cli {

// The words after the subcommand's name.
using Arguments = std::vector<std::string>;

// Runs one subcommand and returns the program's exit status.
using CommandFunction = int (*)(const Arguments& arguments);

struct Command {
  std::string_view name;
  CommandFunction run;
  std::string_view summary;
  std::string_view usage;  // what follows its name: a line for each way to use it
};

// Every subcommand, in the order `help` lists them.
std::span<const Command> Commands();
const Command* FindCommand(std::string_view name);
// Returns an error: no command has this name. Names the command that may be meant.
Error UnknownCommand(std::string_view name);

#define FLOWBACK_COMMAND(name, function, summary, usage) int function(const Arguments& arguments);
#include FLOWBACK_COMMANDS_TABLE
#undef FLOWBACK_COMMAND

}  // namespace flowback::cli
