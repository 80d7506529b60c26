// SPDX-License-Identifier: MIT
#include "cli/crash/stored_core.h"

#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "base/child_process.h"

namespace flowback::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kMostTime{60};

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
  const pid_t pid = StartChild(
      {"coredumpctl", "-1", "--output=" + core->path_, "dump", std::to_string(end.pid)}, {});
  if (pid < 0 || !Succeeds(pid) || !fs::is_regular_file(core->path_, failed)) return nullptr;
  return core;
}

StoredCore::~StoredCore() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace flowback::cli
