// SPDX-License-Identifier: MIT
// Chooses threads by --tid, --comm and --cpu-list, and says which words choose none: a misspelt
// name must not look like a thread that did nothing.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "cli/reading/reader_options.h"
#include "cli/text/status.h"
#include "replay/writers/text/first_few.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

// What there is to choose from.
struct Choices {
  std::set<int32_t> tids;
  std::set<std::string> names;
  std::set<int32_t> cpus;

  explicit Choices(const Threads& threads) {
    for (const StreamOwner& owner : threads.owners()) {
      if (owner.tid >= 0) tids.insert(owner.tid);
      if (const std::string name(threads.CommAt(owner.tid, 0).comm); !name.empty())
        names.insert(std::string(Printable(name)));
      for (const FlowPiece& piece : owner.pieces)
        if (piece.stream->cpu >= 0) cpus.insert(piece.stream->cpu);
    }
  }
  std::string Words() const {
    std::string text = fmt::format("the recording has the threads {}", FirstFew(tids));
    if (!names.empty()) text += fmt::format(", of the names {}", FirstFew(names));
    if (!cpus.empty()) text += fmt::format(", on the CPUs {}", FirstFew(cpus));
    return text;
  }
};

// The options' words that fit no thread.
std::vector<std::string> Unmatched(const ThreadSelection& selection, const Threads& threads,
                                   const Choices& choices) {
  std::vector<std::string> words;
  for (const int32_t tid : selection.tids)
    if (!choices.tids.contains(tid)) words.push_back(fmt::format("--tid {}", tid));
  for (const std::string& name : selection.names)
    if (std::ranges::none_of(threads.owners(), [&](const StreamOwner& owner) {
          return threads.Wants(owner.tid, {.tids = {}, .names = {name}, .cpus = {}});
        }))
      words.push_back(fmt::format("--comm {}", Printable(name)));
  for (const int32_t cpu : selection.cpus)
    if (!choices.cpus.contains(cpu)) words.push_back(fmt::format("--cpu-list {}", cpu));
  return words;
}

}  // namespace

Status Select(const ReaderOptions& options, Threads& threads) {
  const ThreadSelection& selection = options.selection;
  const bool all = selection.tids.empty() && selection.names.empty() && selection.cpus.empty();
  if (all || threads.owners().empty()) {
    threads.Select(selection);
    return {};
  }
  const Choices choices(threads);
  const std::vector<std::string> unmatched = Unmatched(selection, threads, choices);
  if (!threads.Select(selection))
    return Fail(Error(ErrorCode::kUsage, "--tid, --comm and --cpu-list leave nothing to show")
                    .Remedy(choices.Words() + "; flowback info lists them"));
  if (!unmatched.empty())
    Warn(fmt::format("{}: no recorded thread is chosen by it", FirstFew(unmatched)),
         {choices.Words()});
  return {};
}

}  // namespace flowback::cli
