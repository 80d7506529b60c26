// SPDX-License-Identifier: MIT
// Chooses threads by --tid, --comm and --cpu-list, and says which words choose none: a misspelt
// name must not look like a thread that did nothing.
#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "cli/reading/reader_options.h"
#include "cli/text/status.h"
#include "replay/writers/text/first_few.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

std::string ChoiceWords(const ThreadChoices& choices) {
  std::set<std::string> names;
  for (const std::string& name : choices.names) names.insert(Printable(name));
  std::string text = fmt::format("the recording has the threads {}", FirstFew(choices.tids));
  if (!names.empty()) text += fmt::format(", of the names {}", FirstFew(names));
  if (!choices.cpus.empty()) text += fmt::format(", on the CPUs {}", FirstFew(choices.cpus));
  return text;
}

// Returns the options as the user wrote them.
std::vector<std::string> OptionWords(const ThreadSelection& selection) {
  std::vector<std::string> words;
  for (const int32_t tid : selection.tids) words.push_back(fmt::format("--tid {}", tid));
  for (const std::string& name : selection.names)
    words.push_back(fmt::format("--comm {}", Printable(name)));
  for (const int32_t cpu : selection.cpus) words.push_back(fmt::format("--cpu-list {}", cpu));
  return words;
}

}  // namespace

Status Select(const ReaderOptions& options, Threads& threads) {
  const ThreadSelection& selection = options.selection;
  if (selection.IsAll() || threads.owners().empty()) {
    threads.Select(selection);
    return {};
  }
  const ThreadChoices found = threads.Choices();
  const std::string choices = ChoiceWords(found);
  const std::vector<std::string> unmatched = OptionWords(threads.Unmatched(selection, found));
  if (!threads.Select(selection))
    return Fail(Error(ErrorCode::kUsage, "--tid, --comm and --cpu-list leave nothing to show")
                    .Remedy(choices + "; flowback info lists them"));
  if (!unmatched.empty())
    Warn(fmt::format("{}: no recorded thread is chosen by it", FirstFew(unmatched)), {choices});
  return {};
}

}  // namespace flowback::cli
