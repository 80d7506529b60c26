// SPDX-License-Identifier: MIT
// INT1 (opcode 0xf1) raises a trap: the handler runs with the address behind the instruction, so
// that the program goes on there. Where virtual machines run on AMD's processors the address may be
// the instruction's own, and the program never comes past it, with or without a tracer.
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstddef>

#include "tests/support/host.h"

// INT1, then a return.
extern "C" void FlowbackExecuteInt1();
__asm__(
    ".pushsection .text\n"
    "FlowbackExecuteInt1:\n"
    "  .byte 0xf1\n"
    "  ret\n"
    ".popsection\n");

namespace flowback::host {
namespace {

constexpr int kCalledAgain = 1;
constexpr long kInt1 = 0xf1;
// From where the child waits to where it ends there are some hundred.
constexpr int kMaxSteps = 100'000;

void CountCalls(int /*signal*/) {
  static volatile sig_atomic_t calls = 0;
  calls = calls + 1;
  if (calls > 1) _exit(kCalledAgain);
}

void CountCallsAndGoBack(int signal, siginfo_t* /*info*/, void* context) {
  CountCalls(signal);
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP] =
      reinterpret_cast<greg_t>(&FlowbackExecuteInt1);
}

// While a signal is blocked, the end of a step in its handler would reset its handling.
void HandleTraps(struct sigaction action) {
  action.sa_flags |= SA_NODEFER;
  sigaction(SIGTRAP, &action, nullptr);
}

int ExecuteInt1() {
  FlowbackExecuteInt1();
  return 0;
}

[[noreturn]] void BeStepped() {
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(0);
  raise(SIGSTOP);
  _exit(RunsInt1());
}

bool StandsAtInt1(pid_t pid) {
  const long ip = ptrace(PTRACE_PEEKUSER, pid, offsetof(user_regs_struct, rip), nullptr);
  return (ptrace(PTRACE_PEEKTEXT, pid, ip, nullptr) & 0xff) == kInt1;
}

}  // namespace

int RunsInt1() {
  struct sigaction action = {};
  action.sa_handler = CountCalls;
  HandleTraps(action);
  return ExecuteInt1();
}

int ReplaysInt1() {
  struct sigaction action = {};
  action.sa_sigaction = CountCallsAndGoBack;
  action.sa_flags = SA_SIGINFO;
  HandleTraps(action);
  return ExecuteInt1();
}

int StepsInt1() {
  const pid_t child = fork();
  if (child == 0) BeStepped();
  int status = 0;
  bool at_int1 = false;
  for (int steps = 0; waitpid(child, &status, 0) == child && WIFSTOPPED(status); ++steps) {
    if (steps == kMaxSteps) {
      kill(child, SIGKILL);
      continue;
    }
    // The first stop is the child's own; a step's end is no signal of the program, INT1's is.
    siginfo_t info = {};
    ptrace(PTRACE_GETSIGINFO, child, nullptr, &info);
    const bool own = at_int1 && info.si_code != TRAP_TRACE;
    at_int1 = StandsAtInt1(child) && !own;
    ptrace(PTRACE_SINGLESTEP, child, nullptr, own ? SIGTRAP : 0);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kCalledAgain;
}

}  // namespace flowback::host
