// SPDX-License-Identifier: MIT
#include "capture/record/step/child_status.h"

#include <errno.h>
#include <sys/wait.h>

namespace flowback::record {
namespace {

// Only this thread's children: a program that embeds the library may have others.
constexpr int kOwnChildren = __WALL | __WNOTHREAD;

// The child's number; 0: none has a status (with WNOHANG); negative: no child is left.
pid_t Wait(int flags, int& status) {
  while (true) {
    const pid_t pid = waitpid(-1, &status, kOwnChildren | flags);
    if (pid >= 0 || errno != EINTR) return pid;
  }
}

}  // namespace

bool TakeStatuses(std::vector<ChildStatus>& statuses) {
  statuses.clear();
  ChildStatus one;
  for (int flags = 0; (one.pid = Wait(flags, one.status)) > 0; flags = WNOHANG)
    statuses.push_back(one);
  return !statuses.empty();
}

}  // namespace flowback::record
