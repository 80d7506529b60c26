// SPDX-License-Identifier: MIT
// Records a program by single-stepping it. step_engine.cc tells the stops apart (its essay says
// how), step_account.cc what each step did, step_report.cc what goes to the sink.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "capture/record/code_reader.h"
#include "capture/record/cpu_binding.h"
#include "capture/record/packet_generator.h"
#include "capture/record/recording_sink.h"
#include "capture/record/trace_clock.h"
#include "flowback/base/error.h"
#include "flowback/capture/record.h"

namespace flowback::record {

// One recording. Run is to be called by the thread that launched the program, and that thread must
// have no other children; RequestStop by any thread.
class StepEngine {
 public:
  // `pid` is at its exec event. All must outlive the engine.
  StepEngine(pid_t pid, const RecordOptions& options, const TraceClock& clock,
             const CpuBinding& binding, RecordingSink& sink);
  ~StepEngine();

  // Runs the program to its end. On an error the program is killed.
  Result<RecordSummary> Run();
  // Ends the tracing soon; the program goes on and Run returns at its end.
  void RequestStop();
  void RequestSnapshot();
  void AddNote(const std::string& text);

 private:
  struct Thread;
  // A signal to deliver when the thread goes on; 0: none.
  using Signal = int;

  void Loop();
  void HandleStatus(pid_t tid, int status);
  void HandleStop(Thread& thread, int status);
  void HandleEnd(pid_t tid, int status);

  Signal OnTrap(Thread& thread);
  Signal OnSignal(Thread& thread, int signal, uint64_t next, const siginfo_t& info);
  void OnHandlerEntry(Thread& thread, uint64_t next);
  void OnExec(pid_t tid);
  void OnThreadExit(Thread& thread);
  void OnClone(Thread& thread);
  void OnNewThread(pid_t tid);

  void CatchUp(Thread& thread, uint64_t next);
  void CompleteStep(Thread& thread, uint64_t next);
  void CompleteUnknown(Thread& thread, uint64_t next);
  void CompleteTrapped(Thread& thread, uint64_t next);
  void CompleteBranch(Thread& thread, bool taken, uint64_t next);
  void AfterKernelEntry(Thread& thread);
  void AfterSystemCall(Thread& thread, uint64_t number, uint64_t result);
  void UpdateMode(Thread& thread);

  Thread& AddThread(pid_t tid);
  Thread* Find(pid_t tid);
  void FinishThread(Thread& thread);
  void Resume(Thread& thread, Signal signal);
  void StopTracing();
  void GetAttention();
  void ServeRequests();
  void CountInstruction();

  void AnnounceProgram(Thread& thread, bool exec);
  void AnnounceMappings(Thread& thread);
  void AnnounceComm(Thread& thread, bool exec);
  void AnnounceVdso(const ExecutableMapping& mapping);
  bool FlushDue(const Thread& thread) const;
  void FlushTrace(Thread& thread);
  void KeepAnonymousCode();
  template <class Record>
  Record Sideband(Thread& thread) const;
  void Check(Status status);

  const pid_t pid_;
  const int process_;  // pidfd, for RequestStop
  const RecordOptions& options_;
  const TraceClock& clock_;
  const CpuBinding& binding_;
  RecordingSink& sink_;
  std::map<pid_t, std::unique_ptr<Thread>> threads_;  // being traced
  CodeReader code_;
  RecordSummary summary_;
  Status status_;  // first failure of the sink
  std::atomic<bool> stop_requested_ = false;
  std::atomic<bool> snapshot_requested_ = false;
  bool stopping_ = false;  // tracing ends: threads are let go at their next stop
};

}  // namespace flowback::record
