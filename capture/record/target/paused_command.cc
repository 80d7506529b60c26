// SPDX-License-Identifier: MIT
#include "capture/record/target/paused_command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <utility>

#include "capture/record/target/launch.h"
#include "capture/record/target/program_file.h"

namespace flowback::record {
namespace {

ssize_t ReadFully(int descriptor, void* into, size_t size) {
  ssize_t got;
  do {
    got = read(descriptor, into, size);
  } while (got < 0 && errno == EINTR);
  return got;
}

// In the child: nothing but async-signal-safe calls, for the parent has other threads.
[[noreturn]] void WaitAndExec(const char* path, char* const* arguments, int go, int failure,
                              const RecorderSignals& signals) {
  char ignored;
  if (ReadFully(go, &ignored, 1) != 1) _exit(125);
  signals.Restore();
  execvp(path, arguments);
  const int error = errno;
  const ssize_t written = write(failure, &error, sizeof error);
  _exit(written == sizeof error ? 127 : 125);
}

// Returns exec's refusal, as far as the file shows it. A text whose first line names no interpreter
// is the shell's.
std::optional<Error> WontRun(const std::string& name, const std::string& path) {
  const auto program = FindProgram(path);
  if (program || program.error().unreadable) return std::nullopt;
  const int error = program.error().error;
  if (error == 0 || error == ENOEXEC) return std::nullopt;
  return ExecError(name, error);
}

Error NoProcess(const char* call) {
  return Error(ErrorCode::kSystem,
               std::string("can't start a process: ") + call + ": " + std::strerror(errno))
      .Remedy("ulimit -u and ulimit -n show how many processes and files this user may have");
}

}  // namespace

Result<PausedCommand> PausedCommand::Start(const std::vector<std::string>& command,
                                           const RecorderSignals& signals) {
  const std::string path = LookUpInPath(command[0]);
  if (auto wont = WontRun(command[0], path)) return Fail(*std::move(wont));
  int go[2], failure[2];
  if (pipe2(go, O_CLOEXEC) != 0) return Fail(NoProcess("pipe2"));
  Descriptor go_read(go[0]), go_write(go[1]);
  if (pipe2(failure, O_CLOEXEC) != 0) return Fail(NoProcess("pipe2"));
  Descriptor failure_read(failure[0]), failure_write(failure[1]);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) return Fail(NoProcess("fork"));
  if (child == 0) {
    close(go[1]);
    WaitAndExec(path.c_str(), arguments.data(), go[0], failure[1], signals);
  }
  return PausedCommand(command[0], child, std::move(go_write), std::move(failure_read));
}

PausedCommand::PausedCommand(PausedCommand&& other) noexcept
    : name_(std::move(other.name_)),
      pid_(std::exchange(other.pid_, -1)),
      released_(other.released_),
      go_(std::move(other.go_)),
      failure_(std::move(other.failure_)) {}

PausedCommand::~PausedCommand() {
  if (pid_ < 0 || released_) return;
  kill(pid_, SIGKILL);
  Reap();
}

void PausedCommand::Reap() const {
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Status PausedCommand::Release() {
  released_ = true;
  // A failed write means that the child was killed meanwhile, which its end shows.
  if (write(*go_, "", 1) != 1) kill(pid_, SIGKILL);
  int error = 0;
  if (ReadFully(*failure_, &error, sizeof error) != sizeof error) return {};
  Reap();
  return Fail(ExecError(name_, error));
}

}  // namespace flowback::record
