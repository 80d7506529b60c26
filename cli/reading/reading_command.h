// SPDX-License-Identifier: MIT
// The way of every command that reads a recording, from the user's words to the exit status.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/options/arguments.h"
#include "cli/reading/reader_options.h"
#include "cli/text/status.h"
#include "flowback/base/error.h"

namespace flowback::cli {

// One command's additions to the common way. `Options` has a member `reader`, the ReaderOptions.
template <class Options>
struct ReadingCommand {
  const char* name = nullptr;
  const char* summary = nullptr;
  void (*add_options)(CLI::App& app, Options& options, ReaderWords& words) = nullptr;
  // Options of every command that do not apply to this one. They are parsed, so that `understand`
  // can refuse them, but `--help` does not list them.
  std::vector<std::string> hidden = {};
  // Offers names of functions while the line is typed; may be null.
  std::optional<int> (*complete)(CLI::App& app, const Arguments& arguments, ReaderWords& words,
                                 ReaderOptions& options) = nullptr;
  // Checks the command's own words before those that all share; may be null. Errors: kUsage.
  Status (*understand_first)(Options& options) = nullptr;
  // Checks the command's own words, once the others are understood; may be null. Errors: kUsage.
  Status (*understand)(const CLI::App& app, Options& options) = nullptr;
  // Reads the input. Returns the exit status.
  int (*run)(const Options& options) = nullptr;
  // Runs the program that the words after "--" name, in place of reading an input. Returns the exit
  // status. Null: the command takes no program.
  int (*run_program)(const Arguments& program, Options& options, ReaderWords& words) = nullptr;
  // Takes the words after "--", if the command has a use for them beside its input; may be null.
  void (*take_rest)(const Arguments& rest, Options& options) = nullptr;
};

// Returns the exit status.
template <class Options>
int ExecuteReading(const Arguments& arguments, const ReadingCommand<Options>& command) {
  CLI::App app(command.summary, std::string("flowback ") + command.name);
  Options options;
  ReaderWords words;
  AddReaderOptions(app, options.reader, words);
  command.add_options(app, options, words);
  for (const std::string& option : command.hidden) app.get_option(option)->group("");
  if (command.complete != nullptr)
    if (const auto status = command.complete(app, arguments, words, options.reader)) return *status;
  const bool ends = command.run_program != nullptr || command.take_rest != nullptr;
  const auto end = ends ? std::ranges::find(arguments, "--") : arguments.end();
  if (const auto status = Parse(app, Arguments(arguments.begin(), end))) return *status;
  if (command.understand_first != nullptr)
    if (Status status = command.understand_first(options); !status) return Report(status.error());
  if (end != arguments.end() && command.take_rest != nullptr)
    command.take_rest(Arguments(end + 1, arguments.end()), options);
  else if (end != arguments.end())
    return command.run_program(Arguments(end + 1, arguments.end()), options, words);
  if (Status status = Understand(words, options.reader); !status) return Report(status.error());
  if (command.understand != nullptr)
    if (Status status = command.understand(app, options); !status) return Report(status.error());
  return command.run(options);
}

}  // namespace flowback::cli
