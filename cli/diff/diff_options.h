// SPDX-License-Identifier: MIT
// The words of `flowback diff`, understood.
#pragma once

#include <string>
#include <vector>

#include "cli/reading/reader_options.h"
#include "replay/coverage/report/code_patterns.h"
#include "replay/diff/diff_limit.h"

namespace flowback::cli {

struct DiffOptions {
  ReaderOptions reader;
  ReaderWords* words = nullptr;  // as long as the words are parsed
  std::string other;             // the second positional word: an input of the new side
  std::vector<std::string> old;  // inputs of the old side
  std::vector<std::string> now;  // inputs of the new side
  CodePatterns patterns;
  std::string function;  // the words of patterns.function
  std::vector<std::string> fail_if;
  std::string junit;  // file; empty: none
  std::string sarif;  // the same
  std::string html;   // file; empty: none
  bool waits = false;
  size_t top = 10;
  double min_change = 0.1;  // per cent of all instructions

  // Understood from the words above.
  std::vector<DiffLimit> limits;

  bool IsPart() const {
    return !patterns.objects.empty() || !patterns.include.empty() || !patterns.exclude.empty() ||
           patterns.function.has_value();
  }
};

}  // namespace flowback::cli
