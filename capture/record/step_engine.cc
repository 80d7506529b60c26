// SPDX-License-Identifier: MIT
// Single-stepping a program and finding out what each step did.
//
// After PTRACE_SINGLESTEP a thread stops for one of these reasons, told apart by the wait status
// and, where that is not enough, by the siginfo:
//
//   a step is done      SIGTRAP, TRAP_TRACE; the instruction at the old IP ran. A rep string
//                       instruction stops after each iteration, at the same IP
//   a system call is    SIGTRAP, TRAP_BRKPT; comes also once after exec and for a new thread, when
//   done                nothing ran since the last stop
//   a handler is about  SIGTRAP, si_code SIGTRAP, only after a signal was delivered
//   to run
//   a signal            that signal; nothing ran, unless the program's own INT3 raised it. Faults
//                       are signals with a positive si_code
//   an event            exec, clone, exit, group-stop
//
// A system call that a signal interrupts returns an internal code (ERESTART...) and the kernel may
// go back to the SYSCALL instruction without stopping: then the step after it shows the second
// SYSCALL's end. `restart` remembers the instruction until that is known.
//
// Instructions are read before they run, because they may remove or change their own code.
#include "capture/record/step_engine.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "capture/record/branch_outcome.h"
#include "capture/record/ptrace_calls.h"
#include "capture/record/step_thread.h"

namespace flowback::record {
namespace {

int EventOf(int status) { return status >> 16; }

bool IsFault(int signal, const siginfo_t& info) {
  return info.si_code > 0 && (signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE ||
                              signal == SIGILL || signal == SIGTRAP);
}

PtSettings SettingsOf(const RecordOptions& options) {
  return {.psb_period_bytes = options.psb_period_bytes,
          .return_compression = options.return_compression,
          .long_tnt = options.long_tnt,
          .timestamps = options.timestamps,
          .mtc_shift = options.mtc_shift};
}

}  // namespace

StepEngine::StepEngine(pid_t pid, const RecordOptions& options, const TraceClock& clock,
                       const CpuBinding& binding, RecordingSink& sink)
    : pid_(pid),
      process_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))),
      options_(options),
      clock_(clock),
      binding_(binding),
      sink_(sink),
      code_(pid) {}

StepEngine::~StepEngine() {
  if (process_ >= 0) close(process_);
}

Result<RecordSummary> StepEngine::Run() {
  Thread& thread = AddThread(pid_);
  AnnounceProgram(thread, true);
  Resume(thread, 0);
  Loop();
  Complete();
  if (!status_) return Fail(std::move(status_.error()));
  return std::move(summary_);
}

void StepEngine::RequestStop() {
  // The stop signal gets a thread out of any wait in the kernel; OnSignal knows whose it is and
  // does not deliver it.
  syscall(SYS_pidfd_send_signal, process_, SIGSTOP, nullptr, 0);
}

void StepEngine::Loop() {
  while (true) {
    int status = 0;
    // Only this thread's children: a program that embeds the library may have others.
    const pid_t tid = waitpid(-1, &status, __WALL | __WNOTHREAD);
    if (tid < 0 && errno == EINTR) continue;
    if (tid < 0) return;
    HandleStatus(tid, status);
    if (stopping_ && threads_.empty()) Complete();
    if (!status_) kill(pid_, SIGKILL);
  }
}

// The recording is, though the program may run on.
void StepEngine::Complete() {
  if (std::exchange(completed_, true)) return;
  KeepAnonymousCode();
  Check(sink_.Finish(summary_));
}

void StepEngine::HandleStatus(pid_t tid, int status) {
  if (!WIFSTOPPED(status)) return HandleEnd(tid, status);
  if (EventOf(status) == PTRACE_EVENT_EXEC) return OnExec(tid);
  if (Thread* thread = Find(tid))
    HandleStop(*thread, status);
  else
    OnNewThread(tid);
}

void StepEngine::HandleEnd(pid_t tid, int status) {
  if (Thread* thread = Find(tid)) {
    // Without an exit event the thread was killed; what it did since its last stop is not known.
    FinishThread(*thread);
  }
  if (tid == pid_) summary_.command_status = status;
}

void StepEngine::HandleStop(Thread& thread, int status) {
  thread.stopped = true;
  const int signal = WSTOPSIG(status);
  switch (EventOf(status)) {
    case 0:
      if (signal == SIGTRAP) return Resume(thread, OnTrap(thread));
      if (const auto info = ReadSignalInfo(thread.tid)) {
        const auto next = ReadIp(thread.tid);
        return Resume(thread, OnSignal(thread, signal, next.value_or(thread.ip), *info));
      }
      return Resume(thread, 0);
    case PTRACE_EVENT_EXIT:
      return OnThreadExit(thread);
    case PTRACE_EVENT_CLONE:
      OnClone(thread);
      return Resume(thread, 0);
    case PTRACE_EVENT_STOP:
      // A thread let go before its step's signal came would die of it.
      if (stopping_ && HasPendingTrap(thread.tid)) return Continue(thread.tid);
      if (const auto next = ReadIp(thread.tid)) CatchUp(thread, *next);
      if (signal != SIGTRAP && !stopping_) return Listen(thread.tid);
      return Resume(thread, 0);
    default:
      return Resume(thread, 0);
  }
}

StepEngine::Signal StepEngine::OnTrap(Thread& thread) {
  const auto next = ReadIp(thread.tid);
  if (!next) return 0;
  const FetchedInstruction& current = thread.current;
  const bool raises_trap = current.known && RaisesTrap(current.instruction, current.bytes());
  if (thread.signal_sent || thread.restart || raises_trap || *next == thread.ip) {
    const auto info = ReadSignalInfo(thread.tid);
    if (!info) return 0;
    if (info->si_code == SIGTRAP) return OnHandlerEntry(thread, *next), 0;
    const bool own_trap = info->si_code <= 0 || info->si_code == SI_KERNEL ||
                          (raises_trap && IsInt1(current.instruction, current.bytes()));
    if (own_trap) return OnSignal(thread, SIGTRAP, *next, *info);
    if (thread.restart) {
      thread.ip = *std::exchange(thread.restart, std::nullopt);
      thread.current = code_.Fetch(thread.ip, thread.mode);
    } else if (*next == thread.ip && info->si_code != TRAP_TRACE) {
      return 0;  // the end of an exec or of a clone
    }
  }
  CompleteStep(thread, *next);
  return 0;
}

StepEngine::Signal StepEngine::OnSignal(Thread& thread, int signal, uint64_t next,
                                        const siginfo_t& info) {
  const bool ours = signal == SIGSTOP && info.si_code == SI_USER && info.si_pid == getpid();
  if (IsFault(signal, info) && next == thread.ip) {
    thread.generator.Faulted(thread.ip, thread.mode);
  } else {
    CatchUp(thread, next);
    thread.generator.Interrupted(thread.ip);
  }
  if (ours) return StopTracing(), 0;
  return signal;
}

void StepEngine::OnHandlerEntry(Thread& thread, uint64_t next) {
  thread.generator.Interrupted(thread.ip);
  thread.restart.reset();
  thread.ip = next;
  UpdateMode(thread);
  UnblockTrap(thread.tid);
}

void StepEngine::OnExec(pid_t tid) {
  // A thread other than the first that calls exec goes on under the first one's number, and all
  // others are gone.
  const auto former = static_cast<pid_t>(ReadEventMessage(tid).value_or(tid));
  if (Thread* caller = Find(former)) {
    caller->generator.EnteredKernel(caller->ip, caller->mode);
    CountInstruction();
  }
  for (auto it = threads_.begin(); it != threads_.end();) {
    Thread& thread = *(it++)->second;
    if (thread.tid != tid) FinishThread(thread);
  }
  Thread* thread = Find(tid);
  if (thread == nullptr) thread = &AddThread(tid);
  thread->stopped = true;
  thread->restart.reset();
  AnnounceProgram(*thread, true);
  Resume(*thread, 0);
}

void StepEngine::OnThreadExit(Thread& thread) {
  if (const auto next = ReadIp(thread.tid)) CatchUp(thread, *next);
  const pid_t tid = thread.tid;
  FinishThread(thread);
  Continue(tid);
}

void StepEngine::OnClone(Thread& thread) {
  const auto message = ReadEventMessage(thread.tid);
  if (!message) return;
  const auto child = static_cast<pid_t>(*message);
  auto fork = Sideband<ForkRecord>(thread);
  fork.parent_pid = pid_;
  fork.parent_tid = thread.tid;
  fork.tid = child;
  Check(sink_.AddSideband(fork));
}

void StepEngine::OnNewThread(pid_t tid) {
  if (ReadThreadGroup(tid) != pid_ || stopping_) {
    Detach(tid, 0);
    return;
  }
  Thread& thread = AddThread(tid);
  if (const auto ip = ReadIp(tid)) thread.ip = *ip;
  UpdateMode(thread);
  AnnounceComm(thread, false);
  Check(sink_.AddSideband(Sideband<ItraceStartRecord>(thread)));
  Resume(thread, 0);
}

StepEngine::Thread& StepEngine::AddThread(pid_t tid) {
  const StreamInfo info{static_cast<uint32_t>(summary_.threads.size()), pid_, tid};
  summary_.threads.push_back({.pid = pid_, .tid = tid, .bytes = 0, .digest = {}});
  Check(sink_.AddStream(info));
  auto& slot = threads_[tid];
  slot = std::make_unique<Thread>(tid, info, SettingsOf(options_), clock_);
  return *slot;
}

StepEngine::Thread* StepEngine::Find(pid_t tid) {
  const auto found = threads_.find(tid);
  return found == threads_.end() ? nullptr : found->second.get();
}

// Ends the thread's stream. `thread` is gone afterwards.
void StepEngine::FinishThread(Thread& thread) {
  thread.generator.Interrupted(thread.ip);
  thread.generator.Finish();
  FlushTrace(thread);
  summary_.threads[thread.stream.index].digest = thread.generator.digest();
  Check(sink_.AddSideband(Sideband<ExitRecord>(thread)));
  threads_.erase(thread.tid);
}

void StepEngine::Resume(Thread& thread, Signal signal) {
  if (stopping_) {
    const pid_t tid = thread.tid;
    FinishThread(thread);
    binding_.Release(tid);
    Detach(tid, signal);
    return;
  }
  thread.signal_sent = signal != 0;
  thread.current = code_.Fetch(thread.ip, thread.mode);
  thread.stopped = false;
  if (FlushDue(thread)) FlushTrace(thread);
  Step(thread.tid, signal);
}

void StepEngine::StopTracing() {
  stopping_ = true;
  for (const auto& [tid, thread] : threads_)
    if (!thread->stopped) Interrupt(tid);
}

void StepEngine::CountInstruction() {
  ++summary_.instructions;
  if (summary_.instructions != options_.max_instructions) return;
  summary_.stop_reason = StopReason::kMaxInstructions;
  StopTracing();
}

}  // namespace flowback::record
