// SPDX-License-Identifier: MIT
// The ptrace requests the step engine makes, with types.
#pragma once

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <optional>

#include "flowback/model/instruction.h"

namespace flowback::record {

// All fail only when the thread is gone (killed); then its end comes with the next wait.

std::optional<uint64_t> ReadIp(pid_t tid);
std::optional<user_regs_struct> ReadRegisters(pid_t tid);
std::optional<siginfo_t> ReadSignalInfo(pid_t tid);
std::optional<uint64_t> ReadEventMessage(pid_t tid);
// Whether a step's SIGTRAP waits to be delivered to the thread, which stopped for something else.
bool HasPendingTrap(pid_t tid);
// Clears the trap flag in the flags that PUSHF has just pushed.
void HidePushedTrapFlag(pid_t tid);

// Unblocks SIGTRAP. The kernel forces a step's SIGTRAP through when it is blocked, but takes away
// the program's handler for it then.
void UnblockTrap(pid_t tid);

// False: errno says why.
inline bool Seize(pid_t tid, long options) {
  return ptrace(PTRACE_SEIZE, tid, nullptr, options) == 0;
}
inline void Step(pid_t tid, int signal) { ptrace(PTRACE_SINGLESTEP, tid, nullptr, signal); }
// To the next signal or event, or where a system call begins or ends.
inline void RunToSystemCall(pid_t tid) { ptrace(PTRACE_SYSCALL, tid, nullptr, 0); }
inline void Continue(pid_t tid) { ptrace(PTRACE_CONT, tid, nullptr, 0); }
// Leaves a thread in group-stop stopped, but able to report its end and its going on.
inline void Listen(pid_t tid) { ptrace(PTRACE_LISTEN, tid, nullptr, 0); }
inline void Interrupt(pid_t tid) { ptrace(PTRACE_INTERRUPT, tid, nullptr, 0); }
inline void Detach(pid_t tid, int signal) { ptrace(PTRACE_DETACH, tid, nullptr, signal); }

// Whether the thread stands behind a system call that a signal interrupted and that the kernel may
// begin again; where it would go back to.
bool MayRestart(const user_regs_struct& registers);
inline uint64_t RestartAddress(const user_regs_struct& registers) { return registers.rip - 2; }

// Returns whether a thread that stopped for a system call stopped for its beginning.
bool SystemCallBegins(pid_t tid, const user_regs_struct& registers);

// Whether the two processes have one and the same memory; `otherwise` where the kernel cannot say.
bool SharesMemory(pid_t a, pid_t b, bool otherwise);

// From the code segment selector that Linux gives 64-bit or 32-bit user code.
CodeMode ModeOf(const user_regs_struct& registers);

}  // namespace flowback::record
