// SPDX-License-Identifier: MIT
// Plays threads' flow and finds the waits in it.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "flowback/replay/player.h"
#include "flowback/replay/timeline.h"
#include "replay/calls/exec_times.h"
#include "replay/locks/cycle_marks.h"
#include "replay/locks/spin_finder.h"
#include "replay/locks/wait_teller.h"
#include "replay/timeline/thread_times.h"

namespace flowback {

// Receives the waits of all threads, one thread after the other.
class LockSink : public WaitSink {
 public:
  virtual void OnThread(uint32_t number) = 0;
  virtual void OnThreadEnd(uint32_t number, uint64_t instructions) = 0;
  // Each thread's calls, at its end.
  virtual void OnCalls(uint32_t number, CallCounts calls) = 0;
};

class LockPlayer final : public PlayConsumer {
 public:
  // `accounts` are those of the flows that are played. All of it must outlive this.
  LockPlayer(const WaitPlan& plan, LockSink& sink, const TimelineSources& sources,
             std::vector<const TimeAccount*> accounts);

  void OnThreadBegin(const ThreadFlow& thread, size_t number) override;
  void OnThreadEnd(const ThreadFlow& thread, size_t number) override;
  void OnBlock(const BlockRun& run) override;
  void OnBlocks(const BlockBatch& batch) override;
  void OnEvent(const TraceEvent& event) override;
  void OnLoss(const DataLoss& loss) override;

  std::vector<LossSum> TakeLosses() { return losses_.Take(); }
  const WaitLoops& loops() const { return loops_; }

 private:
  void TellBegun();
  void TellEnded();

  const WaitPlan& plan_;
  LockSink& sink_;
  const TimelineSources& sources_;
  std::vector<const TimeAccount*> accounts_;
  RecordingClock clock_;
  LossSums losses_;
  LoopBlocks blocks_;
  WaitLoops loops_;
  std::optional<CycleMarks> cycles_;                          // where a processor counted them
  std::unordered_map<uint32_t, uint64_t> cycles_of_stretch_;  // up to its begin
  std::optional<ExecTimes> execs_;
  std::optional<SpinFinder> finder_;
  std::optional<WaitTeller> teller_;
  std::optional<CallStack> stack_;
};

}  // namespace flowback
