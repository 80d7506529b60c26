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
//   an event            exec, a child made, exit, group-stop, the first stop of a new thread
//
// A system call that a signal interrupts returns an internal code (ERESTART...) and the kernel may
// go back to the SYSCALL instruction without stopping: then the step after it shows the second
// SYSCALL's end. `restart` remembers the instruction until that is known. A signal that the program
// ignores reaches traced programs only, and so does the interruption: nothing is recorded for it.
//
// Instructions are read before they run, because they may remove or change their own code.
//
// Flow that is not recorded is not stepped, if possible: step_passage.cc.
#include "capture/record/step/step_engine.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "capture/record/generate/branch_outcome.h"
#include "capture/record/step/break_points.h"
#include "capture/record/step/child_status.h"
#include "capture/record/step/step_thread.h"
#include "capture/record/target/process_ends.h"
#include "capture/record/target/process_maps.h"
#include "capture/record/target/ptrace_calls.h"

namespace flowback::record {
namespace {

constexpr int kSystemCallStop = SIGTRAP | 0x80;  // PTRACE_O_TRACESYSGOOD

int EventOf(int status) { return status >> 16; }

bool IsFault(int signal, const siginfo_t& info) {
  return info.si_code > 0 && (signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE ||
                              signal == SIGILL || signal == SIGTRAP);
}

}  // namespace

StepEngine::StepEngine(const RecordOptions& options, const TraceClock& clock,
                       const CpuBinding& binding, RecordingSink& sink)
    : options_(options),
      clock_(clock),
      binding_(binding),
      sink_(sink),
      watched_(UnderstandWatch(options).value_or(WatchedFunctions{})),
      passes_(!watched_.everything() && BreakPointsWork()) {
  if (!watched_.everything() && !passes_)
    AddNote(
        "this machine has no debug registers to stop the program with: what is not recorded was "
        "single-stepped, too");
}

StepEngine::~StepEngine() = default;

Result<RecordSummary> StepEngine::Run(pid_t pid) {
  command_ = pid;
  targets_ = {pid};
  Thread& thread = AddThread(pid, AddProcess(pid));
  thread.stopped = thread.begun = true;
  AnnounceProgram(thread);
  Resume(thread, 0);
  Loop();
  return Finished();
}

Result<RecordSummary> StepEngine::RunAttached(const std::vector<SeizedThread>& threads) {
  targets_.insert(options_.target.pids.begin(), options_.target.pids.end());
  targets_.insert(options_.target.tids.begin(), options_.target.tids.end());
  for (const SeizedThread& thread : threads) AddThread(thread.tid, AddProcess(thread.pid));
  Loop();
  return Finished();
}

Result<RecordSummary> StepEngine::Finished() {
  Complete();
  if (!status_) {
    summary_.stop_reason = StopReason::kOutputFailed;
    summary_.failure = std::move(status_.error());
  }
  return std::move(summary_);
}

void StepEngine::Loop() {
  std::vector<ChildStatus> statuses;
  while (true) {
    // Each time: the bell is for a thread that sleeps. While this one and the program hand a CPU to
    // each other at every step, the bell may not get it.
    ServeRequests();
    if (!status_) OnFailure();
    // Without traced threads nothing is to be stopped, and the bell would be waited for in vain.
    threads_.empty() ? bell_.Disarm() : bell_.Arm();
    if (!TakeStatuses(statuses)) return;
    for (const auto& [tid, status] : statuses) {
      HandleStatus(tid, status);
      ResumeHeld();
      if (stopping_ && threads_.empty()) Complete();
      if (!status_) OnFailure();
    }
  }
}

// The recording is, though the program may run on.
void StepEngine::Complete() {
  if (std::exchange(completed_, true)) return;
  TellChangedCode();
  CompleteProcessEnds(summary_, command_,
                      command_ended_ ? std::optional(summary_.command_status) : std::nullopt,
                      clock_.ToNanoseconds(clock_.Now()));
  summary_.regions = regions_.Regions();
  Check(sink_.Finish(summary_));
}

// Handles a failure of the output, which cannot be written any more. The recorded programs usually
// run on.
void StepEngine::OnFailure() {
  if (stopping_) return;
  summary_.stop_reason = StopReason::kOutputFailed;
  if (options_.files.kill_on_failure && command_ >= 0)
    for (const auto& [pid, process] : processes_) kill(pid, SIGKILL);
  StopTracing();
}

void StepEngine::HandleStatus(pid_t tid, int status) {
  if (bell_.Is(tid)) return bell_.OnEnd(status);
  if (!WIFSTOPPED(status)) return HandleEnd(tid, status);
  if (EventOf(status) == PTRACE_EVENT_EXEC) return OnExec(tid);
  if (Thread* thread = Find(tid))
    HandleStop(*thread, status);
  else
    OnUnknownThread(tid);
}

void StepEngine::HandleEnd(pid_t tid, int status) {
  unknown_.erase(tid);
  if (Thread* thread = Find(tid)) {
    // Without an exit event the thread was killed; what it did since its last stop is not known.
    thread->process.lost_threads = true;
    EndThread(*thread);
  }
  if (tid == command_) {
    summary_.command_status = status;
    command_ended_ = true;
  }
  targets_.erase(tid);
  TellLeftRunning();
}

// The recorded program has ended; the processes that it started are recorded to their end, too.
void StepEngine::TellLeftRunning() {
  if (!stopping_) sink_.CountLeftRunning(targets_.empty() ? processes_.size() : 0);
}

void StepEngine::HandleStop(Thread& thread, int status) {
  thread.stopped = true;
  Redirected(thread);
  if (!thread.begun) Begin(thread);
  if (thread.passes) CatchUpPassage(thread);
  const int signal = WSTOPSIG(status);
  switch (EventOf(status)) {
    case 0:
      if (signal == kSystemCallStop) return OnPassedSystemCall(thread);
      if (signal == SIGTRAP) return Resume(thread, OnTrap(thread));
      if (const auto info = ReadSignalInfo(thread.tid)) {
        const auto next = ReadIp(thread.tid);
        return Resume(thread, OnSignal(thread, signal, next.value_or(thread.ip), *info));
      }
      return Resume(thread, 0);
    case PTRACE_EVENT_EXIT:
      return OnThreadExit(thread);
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
    case PTRACE_EVENT_CLONE:
      thread.in_system_call = true;
      OnChild(thread, EventOf(status) == PTRACE_EVENT_VFORK);
      return Resume(thread, 0);
    case PTRACE_EVENT_STOP:
      return HandleEventStop(thread, signal);
    default:
      return Resume(thread, 0);
  }
}

void StepEngine::HandleEventStop(Thread& thread, int signal) {
  // A thread let go before its step's signal came would die of it.
  if (stopping_ && HasPendingTrap(thread.tid)) return Continue(thread.tid);
  if (const auto next = ReadIp(thread.tid)) CatchUp(thread, *next);
  if (signal != SIGTRAP && !stopping_) {
    thread.stopped = false;  // as far as we are concerned: it reports its going on
    return Listen(thread.tid);
  }
  Resume(thread, 0);
}

StepEngine::Signal StepEngine::OnTrap(Thread& thread) {
  const auto next = ReadIp(thread.tid);
  if (!next) return 0;
  if (thread.passes) return OnPassedTrap(thread);
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
      FetchNext(thread);
    } else if (*next == thread.ip && info->si_code != TRAP_TRACE) {
      return 0;  // the end of an exec or of a clone
    }
  }
  CompleteStep(thread, *next);
  return 0;
}

StepEngine::Signal StepEngine::OnSignal(Thread& thread, int signal, uint64_t next,
                                        const siginfo_t& info) {
  NoteSignal(thread, signal, info);
  if (thread.passes) {
    if (const auto registers = ReadRegisters(thread.tid); registers && MayRestart(*registers))
      thread.restart = RestartAddress(*registers);
    return signal;
  }
  if (IsFault(signal, info) && next == thread.ip) {
    thread.generator.Faulted(thread.ip, thread.mode);
  } else {
    CatchUp(thread, next);
    const bool ignored = IgnoresSignal(thread.tid, signal);
    if (!ignored) thread.generator.Interrupted(thread.ip);
    thread.undisturbed = ignored && thread.restart;
  }
  return signal;
}

void StepEngine::OnHandlerEntry(Thread& thread, uint64_t next) {
  thread.last_signal = 0;
  thread.generator.Interrupted(thread.ip);
  thread.restart.reset();
  thread.undisturbed = false;
  thread.ip = next;
  UpdateMode(thread);
  UnblockTrap(thread.tid);
}

void StepEngine::Resume(Thread& thread, Signal signal) {
  if (stopping_) {
    const pid_t tid = thread.tid;
    EndPassage(thread);
    FinishThread(thread);
    return LetGo(tid, signal);
  }
  if (redirected_ > 0) {
    thread.held_signal = signal;
    return;
  }
  if (thread.process.watch.watches()) SwitchRecording(thread);
  thread.signal_sent = signal != 0;
  // Only a step shows where handlers begin.
  if (passes_ && signal == 0 && RunUnrecorded(thread)) return;
  EndPassage(thread);
  FetchNext(thread);
  thread.stopped = false;
  if (FlushDue(thread)) FlushTrace(thread);
  Step(thread.tid, signal);
}

void StepEngine::LetGo(pid_t tid, Signal signal) {
  binding_.Release(tid);
  Detach(tid, signal);
}

void StepEngine::ServeRequests() {
  if (stop_requested_ && !stopping_) StopTracing();
  if (!snapshot_requested_.exchange(false)) return;
  for (const auto& [tid, thread] : threads_) FlushTrace(*thread);
  Check(sink_.TakeSnapshot(clock_.Now()));
}

void StepEngine::StopTracing() {
  stopping_ = true;
  if (targets_.empty() && !threads_.empty()) AddNote(kRunOn);
  for (const auto& [tid, thread] : threads_)
    if (!thread->stopped) Interrupt(tid);
  for (const pid_t tid : std::exchange(unknown_, {})) LetGo(tid, 0);
}

// The thread is about to execute what lies at its address.
void StepEngine::SwitchRecording(Thread& thread) {
  const RecordingSwitch turns = thread.process.watch.At(thread.ip);
  NoteRegion(thread, turns);
  if (turns == RecordingSwitch::kOn)
    thread.generator.Unmute();
  else if (turns == RecordingSwitch::kOff && !thread.generator.muted())
    thread.generator.Mute(thread.ip);
}

// The function's argument is the region's name.
void StepEngine::NoteRegion(const Thread& thread, RecordingSwitch turns) {
  if (turns == RecordingSwitch::kNone || !WatchesRegions(thread.process.watch.watched())) return;
  const uint64_t now = clock_.ToNanoseconds(clock_.Now());
  if (turns == RecordingSwitch::kOff && !thread.generator.muted())
    return regions_.End(thread.tid, now);
  if (turns == RecordingSwitch::kOff || !thread.generator.muted()) return;
  const auto registers = ReadRegisters(thread.tid);
  if (!registers) return;
  const StoppedCodeReader& code = thread.process.code;
  uint64_t address = registers->rdi;
  if (thread.mode == CodeMode::kX86_32) {
    address = 0;
    const std::vector<uint8_t> word = code.ReadMemory(registers->rsp + 4, 4);
    std::memcpy(&address, word.data(), word.size());
  }
  const std::vector<uint8_t> name = code.ReadMemory(address, kLongestRegionName);
  const auto end = std::ranges::find(name, uint8_t{0});
  regions_.Begin(thread.tid, std::string(name.begin(), end), now);
}

void StepEngine::CountInstruction(const Thread& thread) {
  if (thread.generator.muted()) return;
  ++summary_.instructions;
  if (summary_.instructions != options_.limits.instructions) return;
  summary_.stop_reason = StopReason::kMaxInstructions;
  StopTracing();
}

}  // namespace flowback::record
