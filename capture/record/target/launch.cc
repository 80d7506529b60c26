// SPDX-License-Identifier: MIT
// The child waits until it is seized, then execs. Two pipes: one lets it go, the other brings back
// the errno of a failed exec and closes by itself when exec succeeds.
#include "capture/record/target/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

#include "base/descriptor.h"

namespace flowback::record {

namespace {

class Pipe {
 public:
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    read_ = Descriptor(ends[0]);
    write_ = Descriptor(ends[1]);
  }

  bool valid() const { return *read_ >= 0; }
  int read_end() const { return *read_; }
  int write_end() const { return *write_; }
  void CloseRead() { read_.Close(); }
  void CloseWrite() { write_.Close(); }

 private:
  Descriptor read_;
  Descriptor write_;
};

ssize_t ReadAll(int fd, void* buffer, size_t size) {
  ssize_t got;
  do {
    got = read(fd, buffer, size);
  } while (got < 0 && errno == EINTR);
  return got;
}

std::string Reason(int error) { return std::strerror(error); }

// Whether the name leads to a file, by itself or through PATH as execvp looks it up.
bool CommandFileExists(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), F_OK) == 0;
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/bin:/usr/bin";
  while (!rest.empty()) {
    const size_t end = rest.find(':');
    const std::string folder(rest.substr(0, end));
    if (access((folder + "/" + name).c_str(), F_OK) == 0) return true;
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return false;
}

Error SeizeError(int error) {
  Error result(error == EPERM || error == ENOSYS ? ErrorCode::kPermission : ErrorCode::kSystem,
               "can't trace the program: ptrace(PTRACE_SEIZE): " + Reason(error));
  int scope = 0;
  std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
  if (scope >= 2)
    return result.Remedy("this system restricts ptrace (kernel.yama.ptrace_scope=" +
                         std::to_string(scope) + "): sudo sysctl kernel.yama.ptrace_scope=1");
  return result.Remedy(
      "something forbids ptrace: in a container, start it with --cap-add=SYS_PTRACE; under another "
      "debugger, detach that first");
}

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const auto& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// What to execute. As execvp does it, but a damaged or foreign program is no script.
struct TracedCommand {
  std::string path;
  bool may_be_script = false;
  std::vector<char*> arguments;
  std::vector<char*> shell_arguments;
};

TracedCommand MakeTracedCommand(const std::vector<std::string>& words, std::string path,
                                const std::expected<ProgramFile, ProgramRefusal>& program) {
  TracedCommand command;
  command.path = std::move(path);
  command.arguments = Pointers(words);
  command.may_be_script =
      !program && program.error().machine.empty() && program.error().damage.empty();
  command.shell_arguments = command.arguments;
  return command;
}

// In the child: nothing but async-signal-safe calls, for the parent has other threads.
[[noreturn]] void TellErrno(int failure) {
  const int error = errno;
  const ssize_t written = write(failure, &error, sizeof error);
  _exit(written == sizeof error ? 127 : 125);
}

[[noreturn]] void ExecCommand(const TracedCommand& command, int go, int failure,
                              const RecorderSignals& signals) {
  char ignored;
  if (ReadAll(go, &ignored, 1) != 1) _exit(125);
  signals.Restore();
  execv(command.path.c_str(), command.arguments.data());
  if (errno == ENOEXEC && command.may_be_script) execv("/bin/sh", command.shell_arguments.data());
  TellErrno(failure);
}

// The same without waiting.
[[noreturn]] void ExecCommand(char* const* arguments, char* const* environment, int failure,
                              const RecorderSignals& signals) {
  signals.Restore();
  execve(arguments[0], arguments, environment);
  TellErrno(failure);
}

void Discard(pid_t child) {
  kill(child, SIGKILL);
  while (waitpid(child, nullptr, __WALL) < 0 && errno == EINTR) {
  }
}

// Waits for the child's exec, passing on signals that come before it. False: it ended instead, and
// is reaped.
bool WaitForExec(pid_t child) {
  while (true) {
    int status = 0;
    if (waitpid(child, &status, __WALL) < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    if (!WIFSTOPPED(status)) return false;
    if (status >> 16 == PTRACE_EVENT_EXEC) return true;
    // A failure means that the child was killed meanwhile: the next wait shows it.
    ptrace(PTRACE_CONT, child, nullptr, status >> 16 == 0 ? WSTOPSIG(status) : 0);
  }
}

Result<pid_t> SeizeAndRelease(pid_t child, long ptrace_options, Pipe& go, Pipe& failure,
                              const std::string& name) {
  if (ptrace(PTRACE_SEIZE, child, nullptr, ptrace_options) != 0) {
    const int error = errno;
    Discard(child);
    return Fail(SeizeError(error));
  }
  // A failed write means that the child is gone already, which the wait finds out.
  if (write(go.write_end(), "", 1) != 1) kill(child, SIGKILL);
  if (WaitForExec(child)) return child;
  int error = 0;
  const bool told = ReadAll(failure.read_end(), &error, sizeof error) == sizeof error;
  if (told) return Fail(ExecError(name, error));
  return Fail(ErrorCode::kSystem, "'" + name + "' ended before it ran: it was killed");
}

}  // namespace

Error ExecError(const std::string& name, int error) {
  const std::string what = "can't run '" + name + "': ";
  if (error == ENOENT && !CommandFileExists(name)) {
    const bool searched = name.find('/') == std::string::npos;
    return Error(ErrorCode::kCommandMissing,
                 what + (searched ? "no such program in PATH" : "no such file"))
        .Remedy("check the spelling, or give the program's full path");
  }
  if (error == ENOENT)
    return Error(ErrorCode::kCommandRefused,
                 what + "the file exists, but the interpreter or loader it names does not")
        .Remedy("check the first line of the script, or the loader with readelf -l");
  struct stat about{};
  if (error == EACCES && stat(name.c_str(), &about) == 0 && S_ISDIR(about.st_mode))
    return Error(ErrorCode::kCommandRefused, what + "it is a directory")
        .Remedy("give the program's file");
  if (error == EACCES)
    return Error(ErrorCode::kCommandRefused, what + "permission denied")
        .Remedy("make it an executable file: chmod +x");
  return Error(ErrorCode::kCommandRefused, what + Reason(error) + " (exec)");
}

Error RefusedProgram(const std::string& name, const std::string& path, const std::string& by,
                     const ProgramRefusal& refusal) {
  const std::string what = "can't run '" + name + "'" + by + ": " + path + " ";
  if (!refusal.damage.empty())
    return Error(ErrorCode::kCommandRefused, what + "is damaged: " + refusal.damage)
        .Remedy("build or copy it anew; readelf -hl '" + path + "' shows more");
  if (refusal.unreadable)
    return Error(ErrorCode::kPermission,
                 "can't record '" + name + "': " + path +
                     " may be executed but not read by this user: its flow cannot be recorded")
        .Remedy("chmod +r it, or record as its owner or with sudo; by itself it runs");
  if (refusal.machine.empty()) return ExecError(name, refusal.error);
  // Linux on 64-bit x86 runs these by itself.
  const bool relative = refusal.machine == "x32";
  return Error(ErrorCode::kCommandRefused, what + "is a program for " + refusal.machine)
      .Remedy(relative ? "--engine step records what this machine runs by itself"
                       : "record it on such a machine, or build it for this one");
}

Result<pid_t> LaunchTraced(const std::vector<std::string>& command, long ptrace_options,
                           const RecorderSignals& signals) {
  const std::string path = LookUpInPath(command[0]);
  const auto program = FindProgram(path);
  if (!program && program.error().unreadable)
    return Fail(RefusedProgram(command[0], path, "", program.error()));
  TracedCommand traced = MakeTracedCommand(command, path, program);
  // The path stays where it is now.
  traced.shell_arguments.insert(traced.shell_arguments.begin() + 1, traced.path.data());
  Pipe go;
  Pipe failure;
  if (!go.valid() || !failure.valid())
    return Fail(ErrorCode::kSystem, "can't make a pipe: " + Reason(errno));
  const pid_t child = fork();
  if (child < 0) return Fail(ErrorCode::kSystem, "can't start a process: fork: " + Reason(errno));
  if (child == 0) {
    go.CloseWrite();
    ExecCommand(traced, go.read_end(), failure.write_end(), signals);
  }
  go.CloseRead();
  failure.CloseWrite();
  auto started = SeizeAndRelease(child, ptrace_options, go, failure, command[0]);
  const bool refused = !started && started.error().code() == ErrorCode::kCommandRefused;
  if (refused && !program) return Fail(RefusedProgram(command[0], path, "", program.error()));
  return started;
}

Result<pid_t> Launch(const std::vector<std::string>& command,
                     const std::vector<std::string>& environment, const RecorderSignals& signals) {
  const std::vector<char*> arguments = Pointers(command);
  const std::vector<char*> variables = Pointers(environment);
  Pipe failure;
  if (!failure.valid()) return Fail(ErrorCode::kSystem, "can't make a pipe: " + Reason(errno));
  const pid_t child = fork();
  if (child < 0) return Fail(ErrorCode::kSystem, "can't start a process: fork: " + Reason(errno));
  if (child == 0) ExecCommand(arguments.data(), variables.data(), failure.write_end(), signals);
  failure.CloseWrite();
  int error = 0;
  if (ReadAll(failure.read_end(), &error, sizeof error) != sizeof error) return child;
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return Fail(ExecError(command[0], error));
}

}  // namespace flowback::record
