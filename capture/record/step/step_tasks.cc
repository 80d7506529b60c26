// SPDX-License-Identifier: MIT
// Which threads and processes there are: exec, clone, fork, exit.
//
// A new thread and its maker's event come in either order. It goes on once both are there, so that
// its FORK record stands before anything it did, and with the mappings that its maker had then. A
// maker that dies in between, of SIGKILL or of another thread's exec, never reports it: then the
// child goes on without.
#include <sys/wait.h>

#include <utility>

#include "capture/record/generate/branch_outcome.h"
#include "capture/record/output/image_keeper.h"
#include "capture/record/step/step_engine.h"
#include "capture/record/step/step_thread.h"
#include "capture/record/target/process_maps.h"
#include "capture/record/target/ptrace_calls.h"

namespace flowback::record {
namespace {

PtSettings SettingsOf(const RecordOptions& options) {
  return {.psb_period_bytes = options.packets.psb_period_bytes,
          .return_compression = options.packets.return_compression,
          .long_tnt = options.packets.long_tnt,
          .timestamps = options.packets.timestamps,
          .mtc_shift = options.packets.mtc_shift,
          .times_ends = true,
          .cyc_threshold = options.packets.cyc_threshold};
}

}  // namespace

// Leaves by its last instruction, which never returns. An INT n is recorded as one that did not
// run, as everywhere.
void StepEngine::LeaveProgram(Thread& thread) {
  const FetchedInstruction& current = thread.current;
  if (current.known && RaisesTrap(current.instruction, current.bytes()))
    return thread.generator.Faulted(thread.ip, thread.mode);
  thread.generator.EnteredKernel(thread.ip, thread.mode);
  CountInstruction(thread);
}

void StepEngine::OnExec(pid_t tid) {
  // A thread other than the first that calls exec goes on under the first one's number, and all
  // others are gone.
  const auto former = static_cast<pid_t>(ReadEventMessage(tid).value_or(tid));
  Thread* caller = Find(former);
  if (caller != nullptr) LeaveProgram(*caller);
  const bool muted = caller != nullptr && caller->generator.muted();
  if (targets_.erase(former) != 0) targets_.insert(tid);
  // Its other threads ended, not the process.
  if (Process* process = FindProcess(tid)) {
    process->end.reset();
    process->end_decided = false;
  }
  for (auto it = threads_.begin(); it != threads_.end();) {
    Thread& thread = *(it++)->second;
    if (thread.tid == tid || thread.process.pid != tid) continue;
    thread.process.lost_threads = true;
    EndThread(thread);
  }
  Thread* thread = Find(tid);
  if (thread == nullptr) {
    thread = &AddThread(tid, AddProcess(tid));
    if (!muted) thread->generator.Unmute();
  }
  thread->stopped = thread->begun = true;
  thread->restart.reset();
  Redirected(*thread);
  thread->held_signal.reset();
  ForgetPassage(*thread);  // and execve took its break points away
  thread->process.memory = ++memories_;
  AnnounceProgram(*thread);
  Resume(*thread, 0);
}

void StepEngine::OnThreadExit(Thread& thread) {
  if (const auto next = ReadIp(thread.tid)) CatchUp(thread, *next);
  const auto end = static_cast<int>(ReadEventMessage(thread.tid).value_or(SIGKILL));
  if (WIFSIGNALED(end)) thread.process.lost_threads = true;
  NoteExit(thread, end);
  const pid_t tid = thread.tid;
  EndThread(thread);
  Continue(tid);
}

// ---- new threads and processes ----

void StepEngine::OnChild(Thread& thread, bool vfork) {
  thread.made_child = true;
  const auto message = ReadEventMessage(thread.tid);
  if (!message) return;
  const auto child = static_cast<pid_t>(*message);
  if (Find(child) != nullptr || stopping_) return;
  AddChild(child, thread.process, thread.tid, SharesMemory(thread.process.pid, child, vfork));
  if (unknown_.erase(child) != 0) StartChild(child);
}

void StepEngine::OnUnknownThread(pid_t tid) {
  if (stopping_) return LetGo(tid, 0);
  unknown_.insert(tid);
  StartOrphans();
}

// The new threads whose makers may have died before they reported them.
void StepEngine::StartOrphans() {
  for (const pid_t tid : std::set<pid_t>(unknown_)) {
    const pid_t pid = ReadThreadGroup(tid);
    Process* parent = FindProcess(pid);
    if (parent == nullptr) parent = FindProcess(ReadParent(tid));
    if (parent != nullptr && !parent->lost_threads) continue;
    unknown_.erase(tid);
    if (parent != nullptr)
      AddChild(tid, *parent, parent->pid, SharesMemory(parent->pid, tid, false));
    else if (pid > 0)
      AddThread(tid, AddProcess(pid));
    StartChild(tid);
  }
}

void StepEngine::AddChild(pid_t tid, Process& parent, pid_t parent_tid, bool shares_memory) {
  const pid_t pid = ReadThreadGroup(tid);
  if (pid < 0) return;  // killed, and gone
  auto fork = Sideband<ForkRecord>(pid, tid);
  fork.parent_pid = parent.pid;
  fork.parent_tid = parent_tid;
  Check(sink_.AddSideband(fork));
  if (pid == parent.pid) {
    Thread& thread = AddThread(tid, parent);
    thread.named = true;
    GoOnAs(Find(parent_tid), thread);
    return;
  }
  Process& process = AddProcess(pid);
  process.code.Inherit(parent.code);
  process.watch = parent.watch;
  process.announced = true;
  if (shares_memory) process.memory = parent.memory;
  Thread& thread = AddThread(tid, process);
  thread.named = true;
  GoOnAs(Find(parent_tid), thread);
}

// A new thread is recorded if its maker is; if that is gone, as the first one was at its start.
void StepEngine::GoOnAs(const Thread* maker, Thread& thread) {
  if (maker == nullptr) return;
  if (maker->generator.muted())
    thread.generator.Mute(thread.ip);
  else
    thread.generator.Unmute();
}

void StepEngine::StartChild(pid_t tid) {
  Thread* thread = Find(tid);
  if (thread == nullptr) return;
  thread->stopped = true;
  Begin(*thread);
  Resume(*thread, 0);
}

// The thread stopped for the first time; tracing begins where it stands.
void StepEngine::Begin(Thread& thread) {
  thread.begun = true;
  thread.process.code.ReadThrough(thread.tid);
  if (const auto registers = ReadRegisters(thread.tid)) {
    thread.ip = registers->rip;
    thread.mode = ModeOf(*registers);
    // Attached to in a system call: without us it would not begin again.
    if (MayRestart(*registers)) thread.restart = RestartAddress(*registers);
    thread.undisturbed = thread.restart.has_value();
  }
  if (!thread.named) AnnounceComm(thread, false);
  if (!std::exchange(thread.process.announced, true)) AnnounceMappings(thread);
  Check(sink_.AddSideband(Sideband<ItraceStartRecord>(thread)));
}

// ---- the tables ----

StepEngine::Process& StepEngine::AddProcess(pid_t pid) {
  auto& slot = processes_[pid];
  if (slot == nullptr) {
    // The raw output's command takes files from their paths.
    const bool files_are_kept = KeepsImages(options_) && options_.files.raw_directory.empty();
    slot = std::make_unique<Process>(pid, ++memories_, files_are_kept);
    slot->watch = FunctionWatch(watched_);
  }
  return *slot;
}

StepEngine::Process* StepEngine::FindProcess(pid_t pid) {
  const auto found = processes_.find(pid);
  return found == processes_.end() ? nullptr : found->second.get();
}

StepEngine::Thread& StepEngine::AddThread(pid_t tid, Process& process) {
  const RecordedStream info{static_cast<uint32_t>(summary_.threads.size()), process.pid, tid};
  summary_.threads.push_back({.pid = process.pid, .tid = tid, .bytes = 0, .digest = {}});
  Check(sink_.AddStream(info));
  auto& slot = threads_[tid];
  slot = std::make_unique<Thread>(tid, process, info, SettingsOf(options_), clock_);
  ++process.threads;
  if (!watched_.starts_on()) slot->generator.Mute(0);
  TellLeftRunning();
  return *slot;
}

StepEngine::Thread* StepEngine::Find(pid_t tid) {
  const auto found = threads_.find(tid);
  return found == threads_.end() ? nullptr : found->second.get();
}

void StepEngine::EndThread(Thread& thread) {
  const pid_t pid = thread.process.pid;
  const pid_t tid = thread.tid;
  FinishThread(thread);
  Check(sink_.AddSideband(Sideband<ExitRecord>(pid, tid)));
}

// Ends the thread's stream. `thread`, and its process if that was its last one, is gone afterwards.
void StepEngine::FinishThread(Thread& thread) {
  thread.generator.Interrupted(thread.ip);
  thread.generator.Finish();
  FlushTrace(thread);
  summary_.threads[thread.stream.index].digest = thread.generator.digest();
  Check(sink_.EndStream(thread.stream));
  thread.generator.clock().Publish();
  Redirected(thread);
  Process& process = thread.process;
  threads_.erase(thread.tid);
  if (--process.threads == 0) {
    EndProcess(process);
    processes_.erase(process.pid);
  }
  if (!stopping_) StartOrphans();
}

}  // namespace flowback::record
