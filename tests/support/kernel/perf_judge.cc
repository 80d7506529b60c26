// SPDX-License-Identifier: MIT
#include "tests/support/kernel/perf_judge.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

extern char** environ;

namespace flowback::test {
namespace {

namespace fs = std::filesystem;

// As perf_shim.c writes it.
struct Call {
  int32_t pid, cpu, group;
  uint32_t flags;
  uint8_t attr[256];
};

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

bool Run(std::vector<std::string> words, std::vector<std::string> variables) {
  for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int standard : {STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, standard, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  int status = -1;
  if (posix_spawnp(&pid, words[0].c_str(), &actions, nullptr, Pointers(words).data(),
                   Pointers(variables).data()) == 0)
    waitpid(pid, &status, 0);
  posix_spawn_file_actions_destroy(&actions);
  return status == 0;
}

// perf also tries what the kernel can, on nobody; what it opens for the command counts,
// once for all CPUs.
std::vector<AttrFields> CallsIn(const fs::path& log) {
  std::vector<AttrFields> opened;
  std::ifstream file(log, std::ios::binary);
  for (Call call{}; file.read(reinterpret_cast<char*>(&call), sizeof call);) {
    perf_event_attr attr{};
    std::memcpy(&attr, call.attr, sizeof attr);
    const AttrFields fields = FieldsOf(attr);
    const bool new_one = std::ranges::find(opened, fields) == opened.end();
    if (call.pid > 0 && attr.watermark == 0 && new_one) opened.push_back(fields);
  }
  return opened;
}

std::optional<std::vector<AttrFields>> Opens(const std::vector<std::string>& command,
                                             std::vector<std::string> variables) {
  std::string pattern = (fs::temp_directory_path() / "perf-judge-XXXXXX").string();
  const fs::path folder = mkdtemp(pattern.data());
  const fs::path log = folder / "log";
  variables.insert(variables.end(),
                   {"LD_PRELOAD=" FLOWBACK_PERF_SHIM, "FLOWBACK_SHIM_LOG=" + log.string()});
  const bool ran = Run(command, std::move(variables));
  auto opened = CallsIn(log);
  fs::remove_all(folder);
  if (!ran && opened.empty()) return std::nullopt;
  return opened;
}

}  // namespace

std::optional<std::vector<AttrFields>> PerfOpens(const std::vector<std::string>& words,
                                                 const std::string& sysfs) {
  std::vector<std::string> command = {"perf", "record", "-o", "/dev/null"};
  command.insert(command.end(), words.begin(), words.end());
  command.insert(command.end(), {"--", "true"});
  return Opens(command, {"SYSFS_PATH=" + sysfs});
}

std::optional<std::vector<AttrFields>> ProgramOpens(const std::vector<std::string>& words) {
  return Opens(words, {});
}

}  // namespace flowback::test
