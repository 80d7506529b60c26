// SPDX-License-Identifier: MIT
#include "cli/crash/stored_core.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace flowback::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kMostTime{60};

// Starts a program that is found on the PATH, without input and output. Empty: it cannot be
// started.
std::optional<pid_t> Start(std::array<std::string, 5> words) {
  std::array<char*, 6> arguments{};
  for (size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0);
  pid_t pid = -1;
  const int failed = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return failed == 0 ? std::optional(pid) : std::nullopt;
}

// Whether the program ended with 0 in time.
bool Succeeds(pid_t pid) {
  constexpr std::chrono::milliseconds kPause{5};
  const auto end = std::chrono::steady_clock::now() + kMostTime;
  for (int status = 0;;) {
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (ended < 0 && errno != EINTR) return false;
    if (std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(kPause);
      continue;
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return false;
  }
}

}  // namespace

std::unique_ptr<StoredCore> StoredCore::Of(const ProcessEnd& end) {
  std::error_code failed;
  std::string folder = fs::temp_directory_path(failed) / "flowback-core-XXXXXX";
  if (failed || mkdtemp(folder.data()) == nullptr) return nullptr;
  std::unique_ptr<StoredCore> core(new StoredCore(std::move(folder)));
  const auto pid =
      Start({"coredumpctl", "-1", "--output=" + core->path_, "dump", std::to_string(end.pid)});
  if (!pid || !Succeeds(*pid) || !fs::is_regular_file(core->path_, failed)) return nullptr;
  return core;
}

StoredCore::~StoredCore() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace flowback::cli
