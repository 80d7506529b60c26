// SPDX-License-Identifier: MIT
#include "capture/record/step/bell.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <initializer_list>

namespace flowback::record {
namespace {

// In the child: nothing but async-signal-safe calls, for the parent has other threads.
[[noreturn]] void WaitForRing(const int (&ends)[2]) {
  // Not to outlive a recorder that is killed.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // No process shall wait for the end of a pipe that only this process holds.
  if (ends[0] > 0) close_range(0, static_cast<unsigned>(ends[0]) - 1, 0);
  close_range(static_cast<unsigned>(ends[0]) + 1, ~0u, 0);
  // Out of the terminal's reach. A user who mistakes this process for the recorder can end it:
  // OnEnd passes the signal on.
  setsid();
  prctl(PR_SET_NAME, "flowback-bell");
  sigset_t asked;
  sigemptyset(&asked);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    std::signal(signal, SIG_DFL);
    sigaddset(&asked, signal);
  }
  pthread_sigmask(SIG_UNBLOCK, &asked, nullptr);
  pollfd rung{.fd = ends[0], .events = POLLIN, .revents = 0};
  while (poll(&rung, 1, -1) < 0 && errno == EINTR) {
  }
  _exit(0);
}

}  // namespace

Bell::Bell() {
  if (pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0) ends_[0] = ends_[1] = -1;
}

Bell::~Bell() {
  Disarm();
  for (const int end : ends_)
    if (end >= 0) close(end);
}

void Bell::Arm() {
  if (child_ > 0 || ends_[0] < 0) return;
  // None of the caller's handlers is to run in the child. It inherits the mask.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  child_ = fork();
  if (child_ == 0) WaitForRing(ends_);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Bell::Disarm() {
  if (child_ <= 0) return;
  kill(child_, SIGKILL);
  while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
}

void Bell::OnEnd(int status) {
  child_ = -1;
  if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL) {
    kill(getpid(), WTERMSIG(status));
    return;
  }
  char rings[16];
  while (read(ends_[0], rings, sizeof rings) > 0) {
  }
}

void Bell::Ring() {
  // The byte stays in the pipe, so that a child made later hears it too.
  if (ends_[1] >= 0) static_cast<void>(!write(ends_[1], "", 1));
}

}  // namespace flowback::record
