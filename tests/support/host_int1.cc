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
// From where the child waits to behind INT1 there are some hundred.
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

void CountTraps() {
  struct sigaction action = {};
  action.sa_handler = CountCalls;
  HandleTraps(action);
}

// Between the stop and INT1 is nothing that a sanitizer makes long: the address sanitizer goes
// through its whole stack, some hundred thousand steps, at the first variable behind a call that
// does not return.
void BeStepped() {
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(0);
  CountTraps();
  raise(SIGSTOP);
  _exit(ExecuteInt1());
}

long AddressOf(pid_t pid) {
  return ptrace(PTRACE_PEEKUSER, pid, offsetof(user_regs_struct, rip), nullptr);
}

bool IsInt1(pid_t pid, long address) {
  return (ptrace(PTRACE_PEEKTEXT, pid, address, nullptr) & 0xff) == kInt1;
}

bool IsBehindInt1(long address) {
  return address == reinterpret_cast<long>(&FlowbackExecuteInt1) + 1;
}

}  // namespace

int RunsInt1() {
  CountTraps();
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
    const long address = AddressOf(child);
    at_int1 = IsInt1(child, address) && !own;
    // Once the program has come past INT1, the question is answered.
    const bool past = IsBehindInt1(address) && !own;
    ptrace(past ? PTRACE_CONT : PTRACE_SINGLESTEP, child, nullptr, own ? SIGTRAP : 0);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kCalledAgain;
}

}  // namespace flowback::host
