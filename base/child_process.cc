// SPDX-License-Identifier: MIT
#include "base/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/descriptor.h"

namespace flowback {
namespace {

// All that follows runs in the child: only async-signal-safe calls, as the parent may have other
// threads.

// Exits if the parent ended before the kernel knew of the wish.
void EndWithParent(pid_t parent, int signal) {
  prctl(PR_SET_PDEATHSIG, signal);
  if (getppid() != parent) _exit(127);
}

bool Connect(int from, int to, int mode) {
  if (from == ChildSetup::kInherited) return true;
  if (from == to) return fcntl(to, F_SETFD, 0) == 0;
  if (from != ChildSetup::kNowhere) return dup2(from, to) == to;
  const int nowhere = open("/dev/null", mode);
  if (nowhere < 0 || nowhere == to) return nowhere == to;
  const bool done = dup2(nowhere, to) == to;
  close(nowhere);
  return done;
}

bool ConnectAll(const ChildSetup& setup) {
  return Connect(setup.input, STDIN_FILENO, O_RDONLY) &&
         Connect(setup.output, STDOUT_FILENO, O_WRONLY) &&
         Connect(setup.messages, STDERR_FILENO, O_WRONLY);
}

void ResetSignals(const ChildSetup& setup, sigset_t mask) {
  for (const int each : setup.default_signals) std::signal(each, SIG_DFL);
  if (!setup.inherits_mask) sigemptyset(&mask);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

// Does not return.
void Become(char* const* arguments, const ChildSetup& setup, const sigset_t& mask, int failure) {
  if (ConnectAll(setup)) {
    ResetSignals(setup, mask);
    execvp(arguments[0], arguments);
  }
  const int error = errno;
  static_cast<void>(!write(failure, &error, sizeof error));
  _exit(127);
}

// Returns what a child wrote before it could execute the program; 0 if it executes.
int FailureOf(int pipe) {
  int error = 0;
  ssize_t size = 0;
  while ((size = read(pipe, &error, sizeof error)) < 0 && errno == EINTR) continue;
  return size <= 0 ? 0 : error;
}

}  // namespace

pid_t StartChild(const std::vector<std::string>& words, const ChildSetup& setup) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  int ends[2];  // of the pipe that brings errno from a failed exec
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  const Descriptor failure_read(ends[0]);
  Descriptor failure_write(ends[1]);
  // None of this process's handlers may run in the child.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    EndWithParent(parent, setup.end_signal);
    Become(arguments.data(), setup, before, *failure_write);
  }
  int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  failure_write.Close();
  if (child > 0) {
    error = FailureOf(*failure_read);
    if (error == 0) return child;
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  errno = error;
  return -1;
}

}  // namespace flowback
