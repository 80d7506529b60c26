// SPDX-License-Identifier: MIT
// `record [options] CMD [arguments]`: where the options end, with and without `--` between.
#pragma once

#include "cli/command.h"

namespace CLI {
class App;
}

namespace flowback::cli {

struct ProgramWords {
  Arguments options;
  Arguments command;  // empty: none was given
};

// As perf, env and timeout have it, the command begins at the first word that is neither an option
// of `app` nor the value of one, or behind the first `--` before that. An option whose value may be
// left out (-S, --cyc) takes the next word only where that is a number, with or without a unit. An
// unknown option is left to the parser, with all that follows up to a `--`.
ProgramWords SplitAtProgram(const CLI::App& app, const Arguments& words);

}  // namespace flowback::cli
