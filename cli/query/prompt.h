// SPDX-License-Identifier: MIT
// Asks a person at a terminal for SQL, line by line.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flowback::cli {

// One at a time: the line editor is the process' own. Lines can be edited, called back and, with
// the tabulator, completed.
class SqlPrompt {
 public:
  // `words` are what lines are completed with, without regard to case.
  explicit SqlPrompt(std::vector<std::string> words);
  ~SqlPrompt();
  SqlPrompt(const SqlPrompt&) = delete;
  SqlPrompt& operator=(const SqlPrompt&) = delete;

  // Returns the next line. Empty: the person has ended the input.
  std::optional<std::string> Read(const char* prompt);
  // Whether the person has pressed Ctrl-C since the last call of Read.
  bool is_interrupted() const;
  // Keeps a statement to be called back.
  void Remember(const std::string& statement);

 private:
  struct OldAction;
  std::unique_ptr<OldAction> old_;  // what Ctrl-C did before
};

}  // namespace flowback::cli
