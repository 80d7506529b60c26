// SPDX-License-Identifier: MIT
// Plays threads' flow and finds the waits in it.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "flowback/replay/timeline.h"
#include "replay/calls/exec_times.h"
#include "replay/calls/leaping_player.h"
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

class LockPlayer final : public LeapingPlayer {
 public:
  // `accounts` are those of the flows that are played. All of it must outlive this.
  LockPlayer(const WaitPlan& plan, LockSink& sink, const TimelineSources& sources,
             std::vector<const TimeAccount*> accounts);

  // Which part of the work the flow that comes is for.
  enum class Part : uint8_t {
    kAll,
    kSearch,  // only the search for loops that wait. REQUIRES: it goes on where it stands
    kCalls,   // only the calls, which the search is ahead of
  };
  void set_part(Part part) { part_ = part; }
  // True if the calls must learn a result of the search before they go on.
  bool HasFound() const { return finder_->HasBegun(); }
  // The number of the thread's instructions that the search has received or skipped.
  uint64_t searched() const { return finder_->position(); }
  // The search may pass over flow that has nothing of a wait. Cycles are counted by marks all
  // along.
  bool MayPass() const { return finder_->IsQuiet() && !(cycles_ && cycles_->any()); }
  // The flow of the calls has stopped, and not gone on.
  bool is_stopped() const { return stopped_; }
  void PassTo(uint64_t position) { finder_->PassTo(position); }
  std::shared_ptr<const SpinFinder::Place> SavePlace() const { return finder_->Save(); }
  void Return(const SpinFinder::Place& place) { finder_->Return(place); }
  bool KnowsTrail() const { return finder_->KnowsTrail(); }
  // What calls the thread makes up to its end does not matter if none belongs to a lock.
  bool MayLeaveCalls() const { return !stopped_ && teller_->IsIdle(); }

  // Lets the calls pass over `instructions` instructions, if they can. They go on in a call about
  // which nothing is known. REQUIRES: MayLeaveCalls.
  bool LeaveCalls(uint64_t instructions);
  // The calls leap. REQUIRES: MayLeaveCalls.
  bool TookAll() const override { return misses_calls_; }
  bool NeedsSites() const override { return true; }
  const std::vector<Call>& calls() const override { return stack_->calls(); }
  uint64_t next() const override { return next_; }
  bool MayLeap() const override { return MayLeaveCalls() && StackLeaper::MayLeap(*stack_); }
  size_t NoLeapBelow() const override { return StackLeaper::NoLeapBelow(*stack_); }
  bool Leap(const StackLeap& leap) override;
  bool Keep(const SpaceNames&) override { return true; }
  void GoBack(const SpaceNames&) override { NoteMissing(); }
  void NoteMissing() { misses_calls_ = true; }
  // True if a result of any thread needs the calls that were left out.
  bool MissesCalls() const { return misses_calls_ || (teller_ && teller_->misses_calls()); }

  void OnThreadBegin(const ThreadFlow& thread, size_t number) override;
  void OnThreadEnd(const ThreadFlow& thread, size_t number) override;
  void OnBlock(const BlockRun& run) override;
  void OnBlocks(const BlockBatch& batch) override;
  void OnEvent(const TraceEvent& event) override;
  void OnLoss(const DataLoss& loss) override;

  std::vector<LossSum> TakeLosses() { return losses_.Take(); }
  LoopBlocks& blocks() { return blocks_; }
  const WaitLoops& loops() const { return loops_; }

 private:
  void TellBegun();
  void TellEnded();

  Part part_ = Part::kAll;
  void BeginAnew(const AddressSpace* space, uint64_t address);

  bool misses_calls_ = false;        // of a thread that has ended
  std::optional<uint64_t> left_to_;  // where the calls go on that have been left
  bool stopped_ = false;             // the calls' flow has stopped, and not gone on
  uint64_t next_ = 0;                // the address with which it goes on; 0: not known
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
