// SPDX-License-Identifier: MIT
// One recording, as the thread that asked for it sees it: what ends it, and how far it is. The
// engine runs in a thread of its own.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>

#include "base/descriptor.h"
#include "capture/record/control/snapshot_signal.h"
#include "capture/record/output/metered_sink.h"
#include "capture/record/target/recorder_signals.h"
#include "flowback/capture/record.h"

namespace flowback::record {

class RecordSession {
 public:
  RecordSession(const RecordOptions& options, const RecorderSignals& signals);
  RecordSession(const RecordSession&) = delete;
  RecordSession& operator=(const RecordSession&) = delete;

  // ---- the engine's thread ----
  const RecorderSignals& signals() const { return signals_; }
  Meter& meter() { return meter_; }
  const Meter& meter() const { return meter_; }
  // What to stop, and to ask for snapshots; `program` is the one that was started, -1 when none
  // was.
  template <class Engine>
  void Connect(pid_t program, Engine& engine) {
    Connect(program, [&engine] { engine.RequestStop(); }, [&engine] { engine.RequestSnapshot(); });
  }
  // There is no engine any more.
  void Disconnect();
  // The engine's thread ends: Supervise returns.
  void Done();

  // ---- any thread ----
  // Ends the recording; the first reason counts. The program goes on.
  void Stop(StopReason reason);
  StopReason stop_reason() const { return reason_; }
  std::chrono::nanoseconds Elapsed() const { return std::chrono::steady_clock::now() - begin_; }

  // ---- the caller's thread ---- Heeds signals and limits, and reports the progress, until Done.
  void Supervise();

 private:
  void Connect(pid_t program, std::function<void()> stop, std::function<void()> snapshot);
  void TakeSnapshot();
  void OnSignal(const RecorderSignals::Request& request);
  void EndProgram();
  bool ProgramRuns();
  void Signal(int signal);
  void TellProgress();
  bool WaitForEvent();
  std::chrono::nanoseconds TimeLeft() const;

  const RecordOptions& options_;
  const RecorderSignals& signals_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  static constexpr auto kNotYet = std::chrono::steady_clock::time_point::max();
  std::atomic<std::chrono::steady_clock::time_point> connected_ = kNotYet;
  const SnapshotSignal snapshot_signal_;
  Meter meter_;
  std::atomic<StopReason> reason_ = StopReason::kProgramEnded;
  const Descriptor done_;  // eventfd
  // Used by Supervise only.
  int end_signal_ = 0;  // asks the program to end, once the recording is complete
  std::chrono::steady_clock::time_point requested_{};  // when it was known
  bool asked_to_end_ = false;                          // it was sent
  std::chrono::steady_clock::time_point asked_{};      // then
  bool killed_ = false;                                // it did not end
  bool interrupted_ = false;                           // a Ctrl-C was left to the program
  std::chrono::steady_clock::time_point told_ = begin_;

  std::mutex mutex_;  // over what follows
  std::function<void()> stop_;
  std::function<void()> snapshot_;
  Descriptor program_;  // pidfd: its number may be another's once it has ended
};

}  // namespace flowback::record
