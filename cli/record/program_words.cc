// SPDX-License-Identifier: MIT
#include "cli/record/program_words.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>

#include "cli/text/quantity.h"

namespace flowback::cli {
namespace {

constexpr std::string_view kEnd = "--";

bool IsQuantity(const std::string& word) { return ParseSize(word, {}).has_value(); }

// Whether the option, met without a value in its own word, takes the next one.
bool TakesNext(const CLI::Option& option, const Arguments& words, size_t next) {
  if (option.get_items_expected_max() == 0) return false;
  if (option.get_items_expected_min() > 0) return true;
  return next < words.size() && IsQuantity(words[next]);
}

// How many words the option at `at` takes; 0: it is none that `app` has.
size_t LongOption(const CLI::App& app, const Arguments& words, size_t at) {
  const size_t equals = words[at].find('=');
  const CLI::Option* option = app.get_option_no_throw(words[at].substr(0, equals));
  if (option == nullptr) return 0;
  return equals == std::string::npos && TakesNext(*option, words, at + 1) ? 2 : 1;
}

// The same for "-p", "-p12" and "-qS4M": flags in a row, and one with a value at their end.
size_t ShortOptions(const CLI::App& app, const Arguments& words, size_t at) {
  const std::string& word = words[at];
  for (size_t i = 1; i < word.size(); ++i) {
    const CLI::Option* option = app.get_option_no_throw(std::string("-") + word[i]);
    if (option == nullptr) return 0;
    if (option->get_items_expected_max() == 0) continue;
    return i + 1 == word.size() && TakesNext(*option, words, at + 1) ? 2 : 1;
  }
  return 1;
}

Arguments Range(const Arguments& words, size_t begin, size_t end) {
  begin = std::min(begin, words.size());
  end = std::clamp(end, begin, words.size());
  return {words.begin() + static_cast<ptrdiff_t>(begin),
          words.begin() + static_cast<ptrdiff_t>(end)};
}

}  // namespace

ProgramWords SplitAtProgram(const CLI::App& app, const Arguments& words) {
  size_t at = 0;
  while (at < words.size() && words[at] != kEnd) {
    const std::string& word = words[at];
    if (word.size() < 2 || word[0] != '-')
      return {Range(words, 0, at), Range(words, at, words.size())};
    const size_t taken =
        word.starts_with(kEnd) ? LongOption(app, words, at) : ShortOptions(app, words, at);
    if (taken == 0) {
      at = static_cast<size_t>(std::ranges::find(words, kEnd) - words.begin());
      break;
    }
    at += taken;
  }
  return {Range(words, 0, at), Range(words, at + 1, words.size())};
}

}  // namespace flowback::cli
