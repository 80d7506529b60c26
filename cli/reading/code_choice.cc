// SPDX-License-Identifier: MIT
#include "cli/reading/code_choice.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "cli/options/arguments.h"

namespace flowback::cli {

void AddCodeChoice(CLI::App& app, CodePatterns& patterns, std::string& function) {
  AddRepeatable(app, "--object", patterns.objects,
                "Select a file of code: its path, its last part, or a pattern (libz*)");
  app.add_option("--function", function,
                 "Select a function: its name, a pattern (str*) or /an expression/");
  AddRepeatable(app, "--include", patterns.include,
                "Select code of these source files: a path, its last part, or a pattern");
  AddRepeatable(app, "--exclude", patterns.exclude, "Leave out code of these source files");
}

Status UnderstandFunction(const std::string& function, CodePatterns& patterns) {
  if (function.empty()) return {};
  Result<NamePattern> pattern = NamePattern::Parse(function);
  if (!pattern) return Fail(pattern.error());
  patterns.function = *std::move(pattern);
  return {};
}

}  // namespace flowback::cli
