// SPDX-License-Identifier: MIT
#include "capture/record/target/recorder_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cstddef>

namespace flowback::record {
namespace {

constexpr std::array kIgnored = {SIGINT, SIGQUIT, SIGXFSZ, SIGPIPE};
constexpr std::array kWatched = {SIGINT, SIGTERM, SIGHUP};

// nohup's request. An ignored SIGINT is no request: a shell gives it to everything it runs in the
// background, where it is the way to end a recording. Nor is SIGTERM.
bool IsToBeIgnored(int signal) {
  if (signal != SIGHUP) return false;
  struct sigaction action{};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

struct RecorderSignals::Saved {
  std::array<struct sigaction, kIgnored.size()> actions{};
  sigset_t mask{};
  int descriptor = -1;
};

RecorderSignals::RecorderSignals() : saved_(std::make_unique<Saved>()) {
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : kWatched)
    if (!IsToBeIgnored(signal)) sigaddset(&watched, signal);
  // The kernel keeps a blocked signal even where it is ignored; ignoring it as well is for threads
  // of the caller that do not block it.
  pthread_sigmask(SIG_BLOCK, &watched, &saved_->mask);
  saved_->descriptor = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  for (size_t i = 0; i < kIgnored.size(); ++i) sigaction(kIgnored[i], &ignore, &saved_->actions[i]);
}

RecorderSignals::~RecorderSignals() {
  // A Ctrl-C that came at the end was the program's; it must not end the caller now.
  while (Take()) {
  }
  Restore();
  if (saved_->descriptor >= 0) close(saved_->descriptor);
}

void RecorderSignals::Restore() const {
  for (size_t i = 0; i < kIgnored.size(); ++i) sigaction(kIgnored[i], &saved_->actions[i], nullptr);
  pthread_sigmask(SIG_SETMASK, &saved_->mask, nullptr);
}

int RecorderSignals::descriptor() const { return saved_->descriptor; }

std::optional<RecorderSignals::Request> RecorderSignals::Take() const {
  signalfd_siginfo info;
  if (read(saved_->descriptor, &info, sizeof info) != sizeof info) return std::nullopt;
  return Request{.signal = static_cast<int>(info.ssi_signo),
                 .from_terminal = info.ssi_code == SI_KERNEL};
}

}  // namespace flowback::record
