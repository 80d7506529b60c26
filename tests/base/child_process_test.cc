// SPDX-License-Identifier: MIT
#include "base/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "base/descriptor.h"

namespace flowback {
namespace {

struct Ends {
  Ends() {
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    read = Descriptor(ends[0]);
    write = Descriptor(ends[1]);
  }
  // What comes until no process holds the other end; "hangs" if one holds it for ten seconds.
  std::string Text() {
    write.Close();
    std::string text;
    std::array<char, 100> part{};
    for (pollfd wait{*read, POLLIN, 0}; poll(&wait, 1, 10'000) > 0;) {
      const ssize_t size = ::read(*read, part.data(), part.size());
      if (size <= 0) return text;
      text.append(part.data(), static_cast<size_t>(size));
    }
    return "hangs";
  }
  Descriptor read, write;
};

int StatusOf(pid_t pid) {
  int status = -1;
  waitpid(pid, &status, 0);
  return status;
}

TEST(ChildProcess, RunsAProgramOfThePath) {
  Ends ends;
  const pid_t pid = StartChild({"sh", "-c", "echo \"$1\"; cat; exit 3", "sh", "a b"},
                               {.output = *ends.write, .default_signals = {}});
  ASSERT_GT(pid, 0);
  EXPECT_EQ(ends.Text(), "a b\n");
  EXPECT_EQ(WEXITSTATUS(StatusOf(pid)), 3);
}

TEST(ChildProcess, SaysWhyAProgramCannotRun) {
  EXPECT_EQ(StartChild({"/no/such/program"}, {}), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(StartChild({"/"}, {}), -1);
  EXPECT_EQ(errno, EACCES);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST(ChildProcess, ResetsSignalsAndTheMask) {
  sigset_t some, before;
  sigemptyset(&some);
  sigaddset(&some, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &some, &before);
  const auto ignored = std::signal(SIGUSR2, SIG_IGN);
  for (const bool inherits : {true, false}) {
    Ends ends;
    const pid_t pid = StartChild(
        {"sh", "-c", "kill -TERM $$; kill -USR2 $$; echo alive"},
        {.output = *ends.write, .default_signals = {SIGUSR2}, .inherits_mask = inherits});
    EXPECT_EQ(ends.Text(), "");
    EXPECT_EQ(WTERMSIG(StatusOf(pid)), inherits ? SIGUSR2 : SIGTERM);
  }
  std::signal(SIGUSR2, ignored);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// A parent that no handler of its own can help: the child, which would wait for an hour, ends too.
TEST(ChildProcess, EndsWithItsParent) {
  for (const int signal : {SIGKILL, SIGTERM}) {
    Ends life, begun;
    const pid_t parent = fork();
    if (parent == 0) {
      StartChild({"sleep", "3600"},
                 {.output = *life.write, .end_signal = signal, .default_signals = {}});
      static_cast<void>(!write(*begun.write, "x", 1));
      pause();
    }
    char byte = 0;
    ASSERT_EQ(read(*begun.read, &byte, 1), 1);
    kill(parent, SIGKILL);
    EXPECT_EQ(WTERMSIG(StatusOf(parent)), SIGKILL);
    EXPECT_EQ(life.Text(), "");
  }
}

}  // namespace
}  // namespace flowback
