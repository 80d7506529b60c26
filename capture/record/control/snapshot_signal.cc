// SPDX-License-Identifier: MIT
#include "capture/record/control/snapshot_signal.h"

#include <time.h>

namespace flowback::record {
namespace {

sigset_t OnlyThat() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  return set;
}

}  // namespace

SnapshotSignal::SnapshotSignal(bool wanted) : wanted_(wanted) {
  const sigset_t set = OnlyThat();
  if (wanted_) pthread_sigmask(SIG_BLOCK, &set, &before_);
}

// Setting SIG_IGN discards pending instances of the signal.
SnapshotSignal::~SnapshotSignal() {
  if (!wanted_) return;
  struct sigaction action{};
  if (sigaction(SIGUSR2, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
    action.sa_handler = SIG_IGN;
    sigaction(SIGUSR2, &action, nullptr);
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool SnapshotSignal::Wait(std::chrono::milliseconds time) const {
  const sigset_t set = OnlyThat();
  const auto count = time.count();
  const timespec limit{.tv_sec = static_cast<time_t>(count / 1000),
                       .tv_nsec = static_cast<long>(count % 1000 * 1'000'000)};
  return sigtimedwait(&set, nullptr, &limit) == SIGUSR2;
}

}  // namespace flowback::record
