// SPDX-License-Identifier: MIT
#include "cli/report/analysis_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/temporary_file.h"
#include "cli/report/output_lines.h"
#include "cli/text/status.h"

namespace flowback::cli {
namespace {

constexpr size_t kMostMessages = 200;

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

class SpawnFiles {
 public:
  SpawnFiles(std::FILE* out, std::FILE* messages) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, fileno(out), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, fileno(messages), STDERR_FILENO);
  }
  ~SpawnFiles() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnFiles(const SpawnFiles&) = delete;
  SpawnFiles& operator=(const SpawnFiles&) = delete;

  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// Returns the wait status. Errors: kSystem.
Result<int> RunToEnd(const std::vector<std::string>& words, const SpawnFiles& files) {
  std::vector<std::string> all = {"/proc/self/exe"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& word : all) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t pid = -1;
  const int failed = posix_spawn(&pid, pointers[0], files.get(), nullptr, pointers.data(), environ);
  if (failed != 0)
    return Fail(ErrorCode::kSystem,
                fmt::format("cannot start {}: {}", CommandText(words), std::strerror(failed)));
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR)
      return Fail(ErrorCode::kSystem,
                  fmt::format("cannot wait for {}: {}", CommandText(words), std::strerror(errno)));
  return status;
}

// "flowback: text" begins a message, and "  try: text" is a remedy for it.
std::vector<AnalysisMessage> MessagesOf(std::FILE* file) {
  constexpr std::string_view kBegin = "flowback: ";
  constexpr std::string_view kRemedy = "  try: ";
  constexpr size_t kMostRemedies = 8;
  constexpr size_t kLongest = 1000;
  std::vector<AnalysisMessage> all;
  ForEachLine(file, [&](std::string_view line) {
    if (line.starts_with(kRemedy) && !all.empty()) {
      if (all.back().remedies.size() < kMostRemedies)
        all.back().remedies.emplace_back(line.substr(kRemedy.size(), kLongest));
      return;
    }
    if (line.starts_with(kBegin)) line.remove_prefix(kBegin.size());
    if (line.empty()) return;
    // The last message says why there is no result.
    if (all.size() == kMostMessages) all.pop_back();
    all.push_back({std::string(line.substr(0, kLongest)), {}});
  });
  return all;
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

Result<AnalysisAnswer> RunAnalysis(const std::vector<std::string>& words) {
  Result<OpenFile> out = NamelessFile();
  if (!out) return Fail(out.error());
  Result<OpenFile> said = NamelessFile();
  if (!said) return Fail(said.error());
  const auto begin = std::chrono::steady_clock::now();
  const Result<int> status = RunToEnd(words, SpawnFiles(out->get(), said->get()));
  if (!status) return Fail(status.error());
  AnalysisAnswer answer;
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  answer.status = WIFEXITED(*status) ? WEXITSTATUS(*status) : kFailed;
  answer.signal = WIFSIGNALED(*status) ? WTERMSIG(*status) : 0;
  std::rewind(said->get());
  answer.messages = MessagesOf(said->get());
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
