// SPDX-License-Identifier: MIT
#include "cli/replay/gdb_program.h"

#include <errno.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/child_process.h"
#include "replay/gdb/init_text.h"

namespace flowback::cli {
namespace {

Error GdbFailure(const std::string& what, int number) {
  return Error(ErrorCode::kSystem, fmt::format("{}: {}", what, std::strerror(number)));
}

std::string PythonText(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

}  // namespace

Result<GdbFolder> GdbFolder::Make() {
  const char* temporary = getenv("TMPDIR");
  std::string path = std::string(temporary != nullptr && *temporary != '\0' ? temporary : "/tmp") +
                     "/flowback-replay-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return Fail(GdbFailure("cannot make " + path, errno));
  GdbFolder folder(path);
  std::ofstream file(folder.InitFile(), std::ios::binary);
  file << gdb::kInitText;
  file.close();
  if (!file) return Fail(GdbFailure("cannot write " + folder.InitFile(), errno));
  return folder;
}

GdbFolder::~GdbFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Result<GdbProgram> GdbProgram::Start(const std::string& gdb, const GdbFolder& folder,
                                     const std::vector<std::string>& words) {
  std::vector<std::string> all = {
      gdb,    "-q",
      "-iex", "source " + folder.InitFile(),
      "-ex",  "python flowback_connect(" + PythonText(folder.SocketPath()) + ")"};
  all.insert(all.end(), words.begin(), words.end());
  signal(SIGINT, SIG_IGN);
  constexpr int kInherited = ChildSetup::kInherited;
  const pid_t pid = StartChild(all, {.input = kInherited,
                                     .output = kInherited,
                                     .messages = kInherited,
                                     .end_signal = SIGTERM,
                                     .default_signals = {SIGINT},
                                     .inherits_mask = false});
  if (pid < 0 && errno == ENOENT)
    return Fail(Error(ErrorCode::kCommandMissing, gdb + " cannot be started")
                    .Remedy("--gdb-server, for a gdb elsewhere"));
  if (pid < 0) return Fail(GdbFailure("cannot start gdb", errno));
  Descriptor ended(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (*ended < 0) {
    const int number = errno;
    kill(pid, SIGTERM);
    waitpid(pid, nullptr, 0);
    return Fail(GdbFailure("cannot wait for gdb", number));
  }
  return GdbProgram(pid, std::move(ended));
}

int GdbProgram::Wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int GdbProgram::End(int signal) {
  constexpr int kPatience = 5000;  // milliseconds
  kill(pid_, signal);
  pollfd ended{.fd = *ended_, .events = POLLIN, .revents = 0};
  if (poll(&ended, 1, kPatience) == 0) kill(pid_, SIGKILL);
  return Wait();
}

}  // namespace flowback::cli
