// SPDX-License-Identifier: MIT
#include "cli/report/analysis_run.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/child_process.h"
#include "base/temporary_file.h"
#include "cli/report/output_lines.h"
#include "cli/text/status.h"

namespace flowback::cli {
namespace {

// Errors: kSystem.
Result<OpenFile> NamelessFile() {
  const std::string folder = TemporaryFolder();
  const int descriptor = OpenNameless(folder);
  if (descriptor >= 0)
    if (std::FILE* const file = fdopen(descriptor, "r+b")) return OpenFile(file);
  return Fail(Error(ErrorCode::kSystem, fmt::format("{}: cannot make a temporary file: {}", folder,
                                                    std::strerror(errno)))
                  .Remedy("TMPDIR=FOLDER with one that you may write to"));
}

// Returns the wait status. Errors: kSystem.
Result<int> RunToEnd(const std::vector<std::string>& words, const ChildSetup& setup) {
  std::vector<std::string> all = {"/proc/self/exe"};
  all.insert(all.end(), words.begin(), words.end());
  const pid_t pid = StartChild(all, setup);
  if (pid < 0)
    return Fail(ErrorCode::kSystem,
                fmt::format("cannot start {}: {}", CommandText(words), std::strerror(errno)));
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR)
      return Fail(ErrorCode::kSystem,
                  fmt::format("cannot wait for {}: {}", CommandText(words), std::strerror(errno)));
  return status;
}

std::string Shortened(std::string_view text) {
  constexpr size_t kLongest = 1000;
  if (text.size() <= kLongest) return std::string(text);
  return std::string(text.substr(0, kLongest)) + "...";
}

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::strchr("_-./=,:+@%", c) != nullptr;
}

}  // namespace

bool AnalysisAnswer::has_result() const {
  return signal == 0 &&
         (status == kDone || status == kFinishedWithLosses || status == kImageIsMissing);
}

AnalysisMessage AnalysisAnswer::WhyNone() const {
  if (signal != 0) return {fmt::format("the command was ended by signal {}", signal), {}};
  if (!messages.empty()) return messages.back();
  return {fmt::format("the command ended with status {}", status), {}};
}

void ReadMessages(std::FILE* file, AnalysisAnswer& answer) {
  constexpr std::string_view kBegin = "flowback: ";
  constexpr std::string_view kRemedy = "  try: ";
  constexpr size_t kMostMessages = 200;
  constexpr size_t kMostRemedies = 8;
  std::vector<AnalysisMessage>& all = answer.messages;
  ForEachLine(file, [&](std::string_view line) {
    if (line.starts_with(kRemedy) && !all.empty()) {
      line.remove_prefix(kRemedy.size());
      if (all.back().remedies.size() < kMostRemedies)
        all.back().remedies.push_back(Shortened(line));
      else
        ++answer.left_out_messages;
      return;
    }
    if (line.starts_with(kBegin)) line.remove_prefix(kBegin.size());
    if (line.empty()) return;
    // The last message says why there is no result.
    if (all.size() == kMostMessages) {
      answer.left_out_messages += 1 + all.back().remedies.size();
      all.pop_back();
    }
    all.push_back({Shortened(line), {}});
  });
}

Result<AnalysisAnswer> RunAnalysis(const std::vector<std::string>& words) {
  Result<OpenFile> out = NamelessFile();
  if (!out) return Fail(out.error());
  Result<OpenFile> said = NamelessFile();
  if (!said) return Fail(said.error());
  const auto begin = std::chrono::steady_clock::now();
  const Result<int> status = RunToEnd(
      words,
      {.output = fileno(out->get()), .messages = fileno(said->get()), .default_signals = {}});
  if (!status) return Fail(status.error());
  AnalysisAnswer answer;
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  answer.status = WIFEXITED(*status) ? WEXITSTATUS(*status) : kFailed;
  answer.signal = WIFSIGNALED(*status) ? WTERMSIG(*status) : 0;
  std::rewind(said->get());
  ReadMessages(said->get(), answer);
  std::rewind(out->get());
  answer.output = *std::move(out);
  return answer;
}

std::string CommandText(const std::vector<std::string>& words) {
  std::string text = "flowback";
  for (const std::string& word : words) {
    text += ' ';
    if (!word.empty() && std::ranges::all_of(word, IsPlain)) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

}  // namespace flowback::cli
