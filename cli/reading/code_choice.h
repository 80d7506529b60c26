// SPDX-License-Identifier: MIT
// The options by which a person chooses the code that a command is about.
#pragma once

#include <string>

#include "flowback/base/error.h"
#include "replay/coverage/report/code_patterns.h"

namespace CLI {
class App;
}

namespace flowback::cli {

// Adds --object, --function, --include and --exclude. `function` gets the words of
// patterns.function.
void AddCodeChoice(CLI::App& app, CodePatterns& patterns, std::string& function);
// Fills patterns.function from its words, if there are any. Errors: kUsage.
Status UnderstandFunction(const std::string& function, CodePatterns& patterns);

}  // namespace flowback::cli
