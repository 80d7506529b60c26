// SPDX-License-Identifier: MIT
#include "cli/query/prompt.h"

#include <editline/readline.h>
#include <signal.h>
#include <strings.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace flowback::cli {
namespace {

struct FreeText {
  void operator()(char* text) const { std::free(text); }
};

// The words of the prompt that is there. The editor's completion has no place to hand them on.
std::vector<std::string>& CompletionWords() {
  static std::vector<std::string> words;
  return words;
}

// The words that begin with the text, one a call; `state` 0 begins anew.
char* NextWord(const char* text, int state) {
  static size_t at = 0;
  if (state == 0) at = 0;
  const size_t size = std::strlen(text);
  const std::vector<std::string>& words = CompletionWords();
  while (at < words.size())
    if (const std::string& word = words[at++]; strncasecmp(word.c_str(), text, size) == 0)
      return strdup(word.c_str());
  return nullptr;
}

char** Complete(const char* text, int, int) {
  rl_attempted_completion_over = 1;
  return rl_completion_matches(text, NextWord);
}

// Set by the signal handler.
volatile sig_atomic_t interrupts = 0;

// The first one ends the statement as soon as it can be; a second one ends the program.
void OnInterrupt(int) {
  if (interrupts != 0) {
    signal(SIGINT, SIG_DFL);
    raise(SIGINT);
  }
  interrupts = 1;
}

}  // namespace

struct SqlPrompt::OldAction {
  struct sigaction action{};
};

SqlPrompt::SqlPrompt(std::vector<std::string> words) : old_(std::make_unique<OldAction>()) {
  struct sigaction noted{};
  noted.sa_handler = OnInterrupt;
  sigaction(SIGINT, &noted, &old_->action);
  CompletionWords() = std::move(words);
  rl_readline_name = "flowback";
  using_history();
  rl_attempted_completion_function = Complete;
}

SqlPrompt::~SqlPrompt() {
  sigaction(SIGINT, &old_->action, nullptr);
  CompletionWords().clear();
}

bool SqlPrompt::is_interrupted() const { return interrupts != 0; }

std::optional<std::string> SqlPrompt::Read(const char* prompt) {
  const std::unique_ptr<char, FreeText> line(readline(prompt));
  interrupts = 0;
  if (line == nullptr) return std::nullopt;
  return std::string(line.get());
}

void SqlPrompt::Remember(const std::string& statement) { add_history(statement.c_str()); }

}  // namespace flowback::cli
