// SPDX-License-Identifier: MIT
#include "capture/record/step/break_points.h"

#include <errno.h>
#include <signal.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/record/target/ptrace_calls.h"

namespace flowback::record {
namespace {

constexpr size_t kControl = 7;
constexpr int kHardwareTrap = 4;  // TRAP_HWBKPT, which not all headers have

bool SetDebugRegister(pid_t tid, size_t number, uint64_t value) {
  const size_t at = offsetof(struct user, u_debugreg) + number * sizeof(user::u_debugreg[0]);
  return ptrace(PTRACE_POKEUSER, tid, at, value) == 0;
}

// An instruction of any length is meant where the kind and size bits of a register are 0.
uint64_t EnableFirst(size_t count) {
  uint64_t bits = 0;
  for (size_t i = 0; i < count; ++i) bits |= uint64_t{1} << 2 * i;
  return bits;
}

[[gnu::noinline]] void BreakpointTarget() { asm volatile("" ::: "memory"); }

// A child that waits to be let go, and then comes here.
pid_t ForkTraced() {
  const pid_t child = fork();
  if (child != 0) return child;
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0) {
    raise(SIGSTOP);
    BreakpointTarget();
  }
  _exit(0);
}

int WaitFor(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return 0;
  return status;
}

bool StopsAt(pid_t child, uint64_t place) {
  Continue(child);
  const int status = WaitFor(child);
  return WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP && ReadIp(child) == place;
}

}  // namespace

bool SetBreakPoints(pid_t tid, const std::vector<uint64_t>& addresses) {
  if (!SetDebugRegister(tid, kControl, 0)) return false;
  for (size_t i = 0; i < addresses.size(); ++i)
    if (!SetDebugRegister(tid, i, addresses[i])) return false;
  return addresses.empty() || SetDebugRegister(tid, kControl, EnableFirst(addresses.size()));
}

bool IsBreakPoint(int code) { return code == kHardwareTrap; }

bool BreakPointsWork() {
  const pid_t child = ForkTraced();
  if (child < 0) return false;
  const bool traced = WIFSTOPPED(WaitFor(child));
  const auto place = reinterpret_cast<uint64_t>(&BreakpointTarget);
  const bool works = traced && SetBreakPoints(child, {place}) && StopsAt(child, place);
  kill(child, SIGKILL);
  WaitFor(child);
  return works;
}

}  // namespace flowback::record
