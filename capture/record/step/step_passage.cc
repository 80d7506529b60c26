// SPDX-License-Identifier: MIT
// Threads that are not recorded run at full speed.
//
// Only their arrival at a function where recording begins matters, and break points show that. They
// also stop where system calls begin and end: one of these may map a library with such a function,
// and mappings and names are recorded for the whole run. A thread that maps one waits until the
// others of its memory, which run meanwhile, know of the new place. Those in system calls need no
// notice: they learn of it when that ends, and are not disturbed.
//
// Signals are delivered by a step, so that a handler's beginning is seen as everywhere else. Where
// there are more places than break points, the thread is stepped.
#include <utility>

#include "capture/record/step/break_points.h"
#include "capture/record/step/step_engine.h"
#include "capture/record/step/step_thread.h"
#include "capture/record/target/ptrace_calls.h"

namespace flowback::record {

// False: it has to be stepped, because it is recorded or can't be stopped otherwise.
bool StepEngine::RunUnrecorded(Thread& thread) {
  if (!thread.generator.muted()) return false;
  std::vector<uint64_t> places = thread.process.watch.Beginnings();
  if (places.size() > kMaxBreakPoints) {
    AddNote(
        "--from names more places than the processor has debug registers (4): what is not recorded "
        "was single-stepped, too");
    return false;
  }
  if (!thread.passes || thread.stops_at != places) {
    if (!SetBreakPoints(thread.tid, places)) return false;
    thread.stops_at = std::move(places);
  }
  thread.passes = true;
  thread.restart.reset();
  thread.undisturbed = false;
  thread.stopped = false;
  if (FlushDue(thread)) FlushTrace(thread);
  RunToSystemCall(thread.tid);
  return true;
}

void StepEngine::EndPassage(Thread& thread) {
  if (thread.passes) SetBreakPoints(thread.tid, {});
  ForgetPassage(thread);
}

void StepEngine::ForgetPassage(Thread& thread) {
  thread.passes = false;
  thread.in_system_call = false;
}

// It has stopped somewhere: there it is now, and its way there is not recorded.
void StepEngine::CatchUpPassage(Thread& thread) {
  const auto registers = ReadRegisters(thread.tid);
  if (!registers) return;
  thread.ip = registers->rip;
  thread.mode = ModeOf(*registers);
}

// Handles a trap of a break point, or the program's own. Traps of steps count as steps, as
// elsewhere.
StepEngine::Signal StepEngine::OnPassedTrap(Thread& thread) {
  const auto info = ReadSignalInfo(thread.tid);
  if (!info || IsBreakPoint(info->si_code) || info->si_code == TRAP_TRACE) return 0;
  return OnSignal(thread, SIGTRAP, thread.ip, *info);
}

void StepEngine::OnPassedSystemCall(Thread& thread) {
  const auto registers = ReadRegisters(thread.tid);
  thread.in_system_call = registers && SystemCallBegins(thread.tid, *registers);
  if (!registers || stopping_) return Resume(thread, 0);
  if (thread.in_system_call) {
    // Where control will go on is not known before it ends.
    thread.stopped = false;
    return RunToSystemCall(thread.tid);
  }
  if (thread.mode == CodeMode::kX86_64)
    AfterSystemCall(thread, registers->orig_rax, registers->rax);
  else
    AnnounceMappings(thread);  // other numbers; look every time
  Resume(thread, 0);
}

// The mappings of the process have changed, and with them maybe where its threads are to stop.
void StepEngine::Redirect(const Process& process) {
  for (const auto& [tid, thread] : threads_) {
    if (!thread->passes || thread->stopped || thread->in_system_call || thread->redirected ||
        thread->process.memory != process.memory ||
        thread->stops_at == thread->process.watch.Beginnings())
      continue;
    thread->redirected = true;
    ++redirected_;
    Interrupt(tid);
  }
}

// It has stopped, or is gone: before it goes on it learns of its new places.
void StepEngine::Redirected(Thread& thread) {
  if (std::exchange(thread.redirected, false)) --redirected_;
}

void StepEngine::ResumeHeld() {
  if (!passes_ || redirected_ > 0) return;
  std::vector<pid_t> held;
  for (const auto& [tid, thread] : threads_)
    if (thread->held_signal) held.push_back(tid);
  for (const pid_t tid : held)
    if (Thread* thread = Find(tid))
      if (const auto signal = std::exchange(thread->held_signal, std::nullopt))
        Resume(*thread, *signal);
}

}  // namespace flowback::record
