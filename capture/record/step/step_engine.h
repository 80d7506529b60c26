// SPDX-License-Identifier: MIT
// Records programs by single-stepping them. step_engine.cc tells the stops apart (its essay says
// how), step_account.cc what each step did, step_passage.cc how unrecorded threads run at full
// speed, step_tasks.cc which threads and processes there are, step_ends.cc how processes end,
// step_report.cc what goes to the sink.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "capture/record/generate/packet_generator.h"
#include "capture/record/generate/trace_clock.h"
#include "capture/record/output/recording_sink.h"
#include "capture/record/step/bell.h"
#include "capture/record/target/attach.h"
#include "capture/record/target/cpu_binding.h"
#include "capture/record/target/process_maps.h"
#include "capture/record/watch/region_log.h"
#include "capture/record/watch/watched_functions.h"
#include "flowback/base/error.h"
#include "flowback/capture/record.h"

namespace flowback::record {

// One recording. All but RequestStop is to be called by the thread that launched the program, and
// that thread must have no other children.
class StepEngine {
 public:
  // All must outlive the engine.
  StepEngine(const RecordOptions& options, const TraceClock& clock, const CpuBinding& binding,
             RecordingSink& sink);
  ~StepEngine();

  // Runs the program `pid`, which is at its exec event, to its end, and what it
  // started to theirs. Where the output can't be written, tracing stops and
  // the summary says so.
  Result<RecordSummary> Run(pid_t pid);
  // Records threads that ran before, until the processes and threads that the options name have
  // ended or RequestStop; they go on unharmed, also where the output can't be written.
  Result<RecordSummary> RunAttached(const std::vector<SeizedThread>& threads);
  // Ends the tracing soon; the programs go on. Any thread may call it.
  void RequestStop() {
    stop_requested_ = true;
    bell_.Ring();
  }
  // Has the sink take a snapshot soon. Any thread may call it.
  void RequestSnapshot() {
    snapshot_requested_ = true;
    bell_.Ring();
  }
  void AddNote(const std::string& text);

 private:
  struct Process;
  struct Thread;
  // A signal to deliver when the thread goes on; 0: none.
  using Signal = int;

  Result<RecordSummary> Finished();
  void Loop();
  void Complete();
  void OnFailure();
  void HandleStatus(pid_t tid, int status);
  void HandleStop(Thread& thread, int status);
  void HandleEventStop(Thread& thread, int signal);
  void HandleEnd(pid_t tid, int status);
  void TellLeftRunning();

  Signal OnTrap(Thread& thread);
  Signal OnPassedTrap(Thread& thread);
  Signal OnSignal(Thread& thread, int signal, uint64_t next, const siginfo_t& info);
  void OnHandlerEntry(Thread& thread, uint64_t next);

  void NoteSignal(Thread& thread, int signal, const siginfo_t& info);
  void NoteExit(Thread& thread, int status);
  void DescribeDeath(Thread& thread, uint64_t ip, ProcessEnd& end);
  void EndProcess(Process& process);

  void OnExec(pid_t tid);
  void LeaveProgram(Thread& thread);
  void OnThreadExit(Thread& thread);
  void OnChild(Thread& thread, bool vfork);
  void OnUnknownThread(pid_t tid);
  void StartOrphans();
  void AddChild(pid_t tid, Process& parent, pid_t parent_tid, bool shares_memory);
  void StartChild(pid_t tid);
  static void GoOnAs(const Thread* maker, Thread& thread);
  void Begin(Thread& thread);

  void CatchUp(Thread& thread, uint64_t next);
  void CompleteStep(Thread& thread, uint64_t next);
  void CompleteUnknown(Thread& thread, uint64_t next);
  void CompleteTrapped(Thread& thread, uint64_t next);
  void CompleteBranch(Thread& thread, bool taken, uint64_t next);
  void AfterKernelEntry(Thread& thread);
  void AfterSystemCall(Thread& thread, uint64_t number, uint64_t result);
  void UpdateMode(Thread& thread);

  Process& AddProcess(pid_t pid);
  Process* FindProcess(pid_t pid);
  Thread& AddThread(pid_t tid, Process& process);
  Thread* Find(pid_t tid);
  void EndThread(Thread& thread);
  void FinishThread(Thread& thread);
  void Resume(Thread& thread, Signal signal);
  void LetGo(pid_t tid, Signal signal);
  void StopTracing();
  void ServeRequests();
  bool RunUnrecorded(Thread& thread);
  void EndPassage(Thread& thread);
  void ForgetPassage(Thread& thread);
  void CatchUpPassage(Thread& thread);
  void OnPassedSystemCall(Thread& thread);
  void Redirect(const Process& process);
  void Redirected(Thread& thread);
  void ResumeHeld();
  void CountInstruction(const Thread& thread);
  void SwitchRecording(Thread& thread);
  void NoteRegion(const Thread& thread, RecordingSwitch turns);
  void Watch(Process& process, const ExecutableMapping& mapping);

  void AnnounceProgram(Thread& thread);
  void AnnounceMappings(Thread& thread);
  void AnnounceMappingsOf(Process& process, pid_t tid);
  void TellVdso(const MmapRecord& mapping, Bytes bytes);
  void AnnounceComm(Thread& thread, bool exec);
  bool FlushDue(const Thread& thread) const;
  void FlushTrace(Thread& thread);
  void FetchNext(Thread& thread);
  void TellChangedCode();
  template <class Record>
  Record Sideband(pid_t pid, pid_t tid);
  template <class Record>
  Record Sideband(const Thread& thread);
  void Check(Status status);

  const RecordOptions& options_;
  const TraceClock& clock_;
  const CpuBinding& binding_;
  RecordingSink& sink_;
  const WatchedFunctions watched_;
  const bool passes_;  // unrecorded threads do, at full speed
  Bell bell_;
  pid_t command_ = -1;  // -1: none was started
  bool command_ended_ = false;
  std::set<pid_t> targets_;  // processes and threads whose end is the recording's
  std::map<pid_t, std::unique_ptr<Process>> processes_;  // with threads being traced
  std::map<pid_t, std::unique_ptr<Thread>> threads_;     // being traced
  std::set<pid_t> unknown_;  // new threads, stopped, whose makers have not reported them yet
  std::set<std::pair<pid_t, uint64_t>> code_pages_;  // recorded, by process
  bool code_changed_ = false;                        // some of them were recorded again
  size_t redirected_ = 0;  // threads that are to stop before others of their memory go on
  uint64_t memories_ = 0;  // how many there were so far
  RegionLog regions_;
  RecordSummary summary_;
  Status status_;  // first failure of the sink
  bool completed_ = false;
  std::atomic<bool> stop_requested_ = false;
  std::atomic<bool> snapshot_requested_ = false;
  bool stopping_ = false;  // tracing ends: threads are let go at their next stop
};

}  // namespace flowback::record
