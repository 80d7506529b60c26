// SPDX-License-Identifier: MIT
// Runs one of flowback's own commands in a process of its own and keeps what it answers.
//
// A report needs what seven commands say. Each runs in its own process: the numbers in the report
// are then the command's numbers, the memory of one analysis is free before the next one begins,
// and an analysis that fails or dies costs its own section and nothing else.
#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "flowback/base/error.h"

namespace flowback::cli {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using OpenFile = std::unique_ptr<std::FILE, FileCloser>;

// What a command said on standard error: a message, with its remedies. A text that is very long is
// cut, and ends with "...".
struct AnalysisMessage {
  std::string text;
  std::vector<std::string> remedies;
};

struct AnalysisAnswer {
  int status = 0;                         // the exit status
  int signal = 0;                         // that ended the process; 0: none did
  double seconds = 0;                     // that the command took
  std::vector<AnalysisMessage> messages;  // the first ones and the last one
  size_t left_out_messages = 0;           // the other messages and remedies
  OpenFile output;                        // standard output, at its begin

  // Whether the command wrote all that it has to say, perhaps with losses.
  bool has_result() const;
  // Returns why there is no result: the last message, or the signal.
  AnalysisMessage WhyNone() const;
};

// Runs `flowback WORDS...` to its end. The output goes to files without a name in $TMPDIR, else
// /tmp. Errors: kSystem if no file or process can be made.
Result<AnalysisAnswer> RunAnalysis(const std::vector<std::string>& words);

// Reads what a command wrote to standard error into `answer`: "flowback: TEXT" begins a message,
// and "  try: TEXT" is a remedy for it.
void ReadMessages(std::FILE* file, AnalysisAnswer& answer);

// Returns the command line as a user types it in a shell: "flowback locks 'my recording' --json".
std::string CommandText(const std::vector<std::string>& words);

}  // namespace flowback::cli
