// SPDX-License-Identifier: MIT
#include "capture/record/target/ptrace_calls.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

namespace flowback::record {
namespace {

constexpr uint64_t kTrapFlag = 0x100;
constexpr uint64_t kUserCodeSelector64 = 0x33;

}  // namespace

std::optional<uint64_t> ReadIp(pid_t tid) {
  errno = 0;
  const long value = ptrace(PTRACE_PEEKUSER, tid, offsetof(user_regs_struct, rip), 0);
  if (errno != 0) return std::nullopt;
  return static_cast<uint64_t>(value);
}

std::optional<user_regs_struct> ReadRegisters(pid_t tid) {
  user_regs_struct registers;
  if (ptrace(PTRACE_GETREGS, tid, nullptr, &registers) != 0) return std::nullopt;
  return registers;
}

std::optional<siginfo_t> ReadSignalInfo(pid_t tid) {
  siginfo_t info;
  if (ptrace(PTRACE_GETSIGINFO, tid, nullptr, &info) != 0) return std::nullopt;
  return info;
}

std::optional<uint64_t> ReadEventMessage(pid_t tid) {
  unsigned long message = 0;
  if (ptrace(PTRACE_GETEVENTMSG, tid, nullptr, &message) != 0) return std::nullopt;
  return message;
}

bool HasPendingTrap(pid_t tid) {
  constexpr unsigned kMaxPending = 32;
  __ptrace_peeksiginfo_args request{.off = 0, .flags = 0, .nr = kMaxPending};
  siginfo_t pending[kMaxPending];
  const long count = ptrace(PTRACE_PEEKSIGINFO, tid, &request, pending);
  for (long i = 0; i < count; ++i)
    if (pending[i].si_signo == SIGTRAP && pending[i].si_code > 0) return true;
  return false;
}

void HidePushedTrapFlag(pid_t tid) {
  const auto registers = ReadRegisters(tid);
  if (!registers) return;
  errno = 0;
  // Eight bytes also when PUSHFW pushed two: the others are written back as they were.
  const long flags = ptrace(PTRACE_PEEKDATA, tid, registers->rsp, 0);
  if (errno != 0) return;
  ptrace(PTRACE_POKEDATA, tid, registers->rsp, static_cast<uint64_t>(flags) & ~kTrapFlag);
}

void UnblockTrap(pid_t tid) {
  constexpr uint64_t kTrapBit = uint64_t{1} << (SIGTRAP - 1);
  uint64_t blocked = 0;
  // The request's address argument is the size of the mask.
  auto* size = reinterpret_cast<void*>(sizeof blocked);
  if (ptrace(PTRACE_GETSIGMASK, tid, size, &blocked) != 0 || !(blocked & kTrapBit)) return;
  blocked &= ~kTrapBit;
  ptrace(PTRACE_SETSIGMASK, tid, size, &blocked);
}

// The kernel's internal results of interrupted system calls: ERESTARTSYS, ERESTARTNOINTR,
// ERESTARTNOHAND, ERESTART_RESTARTBLOCK. User code never sees them.
bool MayRestart(const user_regs_struct& registers) {
  const auto result = static_cast<int64_t>(registers.rax);
  return static_cast<int64_t>(registers.orig_rax) >= 0 &&
         (result == -512 || result == -513 || result == -514 || result == -516);
}

bool SystemCallBegins(pid_t tid, const user_regs_struct& registers) {
  __ptrace_syscall_info info{};
  auto* size = reinterpret_cast<void*>(sizeof info);
  if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, size, &info) > 0)
    return info.op == PTRACE_SYSCALL_INFO_ENTRY;
  return static_cast<int64_t>(registers.rax) == -ENOSYS;  // before Linux 5.3
}

bool SharesMemory(pid_t a, pid_t b, bool otherwise) {
  const long order = syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0);
  return order < 0 ? otherwise : order == 0;
}

CodeMode ModeOf(const user_regs_struct& registers) {
  return registers.cs == kUserCodeSelector64 ? CodeMode::kX86_64 : CodeMode::kX86_32;
}

}  // namespace flowback::record
