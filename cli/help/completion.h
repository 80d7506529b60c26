// SPDX-License-Identifier: MIT
// What a shell may offer where a function's name is typed. The shell's own completion asks:
//
//   flowback decode --complete-function PREFIX [the other words of the line]
//   flowback record --complete-function PREFIX [the other words of the line]
//
// and gets names, a line each. The user is typing: unreadable input causes no message, nothing
// waits for input, and the answer is short.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/reading/reader_options.h"
#include "flowback/capture/record.h"

namespace CLI {
class App;
}

namespace flowback::cli {

struct CompletionQuery {
  std::string prefix;
  Arguments words;  // of the line, without the one that is being completed and its option
};

// If that is what the words after the subcommand's name ask.
std::optional<CompletionQuery> AsksToComplete(const Arguments& arguments);

// For a command that reads a recording: if the line asks for functions, offers those of the files
// that the recording names, and returns the exit status. The line is parsed into `words` and
// `options`.
std::optional<int> CompleteRecorded(CLI::App& app, const Arguments& arguments, ReaderWords& words,
                                    ReaderOptions& options);

// Functions of the program that would be recorded, and those of libraries that it calls. Returns
// the exit status.
int CompleteOfProgram(const std::string& prefix, const RecordOptions& options);

// Returns the demangled `names` to offer: sorted, each once, without parameters or versions where
// it is found without. If there are too many names, returns the first ones and the last, which have
// the same common prefix.
std::vector<std::string> NamesToOffer(const std::string& prefix,
                                      std::span<const std::string> names);

}  // namespace flowback::cli
