// SPDX-License-Identifier: MIT
#include "cli/help/completion.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/name_pattern.h"
#include "base/proc_path.h"
#include "capture/record/target/program_file.h"
#include "capture/record/watch/function_name.h"
#include "cli/help/function_hint.h"
#include "cli/options/arguments.h"
#include "cli/text/output.h"
#include "cli/text/status.h"
#include "flowback/capture/open.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

constexpr std::string_view kAsks = "--complete-function";
// As many as gdb offers.
constexpr size_t kMostOffered = 200;
// Programs with more functions are completed among the first ones read.
constexpr size_t kMostNames = 1'000'000;

// "f(int)" is found as f. A nameless namespace and the operator () have parentheses of their own.
std::string_view WithoutParameters(std::string_view name) {
  size_t at = 0;
  while ((at = name.find('(', at)) != std::string_view::npos) {
    constexpr std::string_view kNameless = "(anonymous namespace)";
    if (name.substr(at).starts_with(kNameless))
      at += kNameless.size();
    else if (name.substr(0, at).ends_with("operator") && name.substr(at).starts_with("()"))
      at += 2;
    else
      break;
  }
  return name.substr(0, at);
}

// Returns f for a copy of f that the compiler made, and for a name with its version.
std::string_view WithoutMarks(std::string_view name) {
  for (const std::string_view mark :
       {"@", " [clone ", ".cold", ".constprop.", ".isra.", ".lto_priv.", ".part."})
    if (const size_t at = name.find(mark); at != 0) name = name.substr(0, at);
  return name;
}

// What options and expressions begin with, and what would not be printed as it is, no shell can
// hand back to us as that name.
bool CanBeTyped(std::string_view name) {
  return !name.empty() && name[0] != '-' && name[0] != '/' && Printable(name) == name;
}

bool IsFoundBy(const std::string& typed, const std::string& name) {
  const Result<NamePattern> pattern = NamePattern::Parse(typed);
  return pattern && pattern->Matches(name);
}

int Print(const std::vector<std::string>& names) {
  Output output;
  for (const std::string& name : names) output.Write(name + '\n');
  static_cast<void>(output.Finish());
  return kDone;
}

// Reading a pipe would take its real reader's data, or block.
bool CanBeReadTwice(const std::string& path) {
  std::error_code ignored;
  const auto kind = std::filesystem::status(path, ignored).type();
  return kind == std::filesystem::file_type::regular ||
         kind == std::filesystem::file_type::directory;
}

bool CanBeReadTwice(const OpenOptions& open) {
  return std::ranges::all_of(open.raw_pt, [](const auto& file) { return CanBeReadTwice(file); }) &&
         (open.input.empty() || CanBeReadTwice(open.input));
}

// Returns the program's file; empty: the options name no program.
std::string ProgramOf(const RecordOptions& options) {
  if (!options.target.pids.empty()) return ProcPath(options.target.pids[0], "exe");
  if (!options.target.tids.empty()) return ProcPath(options.target.tids[0], "exe");
  if (options.target.command.empty()) return {};
  const auto program = record::FindProgram(record::LookUpInPath(options.target.command[0]));
  return program ? program->path : std::string();
}

}  // namespace

std::optional<CompletionQuery> AsksToComplete(const Arguments& arguments) {
  if (arguments.size() < 2 || arguments[0] != kAsks) return std::nullopt;
  return CompletionQuery{.prefix = arguments[1],
                         .words = Arguments(arguments.begin() + 2, arguments.end())};
}

std::vector<std::string> NamesToOffer(const std::string& prefix,
                                      std::span<const std::string> names) {
  std::vector<std::string> offered;
  for (const std::string& name : names) {
    if (!name.starts_with(prefix) || !CanBeTyped(name)) continue;
    std::string typed(WithoutParameters(WithoutMarks(name)));
    // If the user has begun to type parameters, they are offered.
    if (!typed.starts_with(prefix) || !IsFoundBy(typed, name)) typed = WithoutMarks(name);
    if (typed.starts_with(prefix) && IsFoundBy(typed, name)) offered.push_back(std::move(typed));
  }
  std::ranges::sort(offered);
  const auto same = std::ranges::unique(offered);
  offered.erase(same.begin(), same.end());
  if (offered.size() > kMostOffered)
    offered.erase(offered.begin() + kMostOffered - 1, offered.end() - 1);
  return offered;
}

std::optional<int> CompleteRecorded(CLI::App& app, const Arguments& arguments, ReaderWords& words,
                                    ReaderOptions& options) {
  const std::optional<CompletionQuery> query = AsksToComplete(arguments);
  if (!query) return std::nullopt;
  const bool parsed = ParseQuietly(app, query->words);
  words.no_cache = true;
  if (!parsed || !Understand(words, options) || !CanBeReadTwice(options.open)) return kDone;
  const Result<Recording> recording = OpenInput(options);
  if (!recording) return kDone;
  return Print(
      NamesToOffer(query->prefix, RecordedFunctions(*recording, options.search, kMostNames)));
}

int CompleteOfProgram(const std::string& prefix, const RecordOptions& options) {
  std::vector<std::string> names;
  const std::string program = ProgramOf(options);
  if (!program.empty()) AppendFunctions(program, {}, kMostNames, names);
  constexpr std::string_view kStub = "@plt";
  for (std::string& name : names)
    if (name.ends_with(kStub)) name.resize(name.size() - kStub.size());
  std::vector<std::string> offered = NamesToOffer(prefix, names);
  // A colon or an @ of a name may stand for a file.
  std::erase_if(offered, [](const std::string& name) {
    const auto parsed = record::ParseFunctionName(name);
    return !parsed || parsed->name != name;
  });
  return Print(offered);
}

}  // namespace flowback::cli
