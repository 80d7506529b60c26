// SPDX-License-Identifier: MIT
// Finds in one thread's flow the stretches in which it went round loops that wait.
//
//   pre:  mov  edx, 1       The trail is what executed last, as far as it can be part of a trip
//   L:    mov  eax, edx     that waits: a block that stores ends it. At a jump backwards, the trip
//         xchg eax, [rdi]   is what the trail has from the jump's target on, which may lie within
//         test eax, eax     a block (`pre`). A loop that is entered in the middle is judged when
//         jne  L            the flow comes to its jump the second time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flowback/model/block_batch.h"
#include "flowback/model/execution.h"
#include "flowback/replay/call_stack.h"
#include "replay/locks/atomic_uses.h"
#include "replay/locks/locks.h"
#include "replay/locks/loops/call_arguments.h"
#include "replay/locks/loops/wait_loops.h"

namespace flowback {

// Trips without anything else in between, of one loop or of loops within one another.
struct SpinStretch {
  uint32_t number = 0;          // of the thread's, in the order of their begins
  uint64_t begin_position = 0;  // the number of the thread's instructions before it
  uint64_t end_position = 0;
  uint64_t quiet_since = 0;  // at its begin: the thread has stored nothing since that position
  ExitTime begin;            // when the first check failed
  ExitTime end;              // when the loop was left
  uint64_t trips = 0;
  uint64_t cycles = 0;  // LockPlayer fills them in; 0: unknown
  bool waits = false;   // else an atomic operation was tried again, and no more
  WaitState state = WaitState::kWhole;
  const WaitLoop* loop = nullptr;  // whose trip was the first
};

class SpinFinder {
 public:
  // Both must outlive it.
  SpinFinder(LoopBlocks& blocks, WaitLoops& loops) : blocks_(blocks), loops_(loops) {}

  // The flow, in program order; nothing is known of what came before it.
  void OnBlock(const BlockRun& run);
  void OnBlocks(const BlockBatch& batch);
  void OnLoss(const DataLoss& loss);
  void Finish();

  // Passes over flow in which nothing ends a trip that is worth a look: the flow goes on behind the
  // thread's first `position` instructions. REQUIRES: IsQuiet.
  void PassTo(uint64_t position);
  // Where it stands, and back there. REQUIRES of both: IsQuiet.
  class Place;
  std::shared_ptr<const Place> Save() const;
  void Return(const Place& place);
  // Nothing is under way: no stretch, and no address without its operation.
  bool IsQuiet() const { return !open_ && begun_.empty() && ended_.empty() && !uses_.waits(); }
  bool HasBegun() const { return !begun_.empty(); }
  // Its result does not depend on skipped flow.
  bool KnowsTrail() const { return knows_trail_; }

  uint64_t position() const { return position_; }
  // The thread has stored nothing since that position, as far as the flow was given.
  uint64_t quiet_since() const { return quiet_since_; }
  // It executed an atomic operation last before that position; 0: never.
  uint64_t last_atomic() const { return last_atomic_; }
  // Addresses of locks in the trace.
  AtomicUses& uses() { return uses_; }
  // The arguments of the system call that the flow ended in last, as far as the trail shows them.
  const CallArguments& call() const { return call_; }
  // What began, and what ended, since the last call.
  std::vector<SpinStretch> TakeBegun() { return std::exchange(begun_, {}); }
  std::vector<SpinStretch> TakeEnded() { return std::exchange(ended_, {}); }

 private:
  struct Part : TrailPart {
    uint64_t position = 0;  // instructions of the thread before it
  };
  // A jump backwards of a loop that was entered in the middle.
  struct Entered {
    const LoopBlock* block = nullptr;
    uint64_t position = 0;  // after it
    ExitTime time;
  };
  static constexpr size_t kMostParts = 256;

  // A trip, judged.
  struct Trip {
    WaitLoop* loop = nullptr;
    uint64_t from = 0;           // instructions of the thread before it
    bool is_first = false;       // it came after a jump of a loop that was entered in the middle
    bool is_from_begin = false;  // all that is known of the flow before it is of the same loop
  };

  struct Walk;

  void CatchUp(Walk& walk);
  void PassTo(Walk& walk, size_t step, uint64_t count);
  void StepTo(Walk& walk, size_t end);
  bool MayMatter(Walk& walk, const LoopBlock& block);
  bool EndsTrips(Walk& walk, BlockStep step);
  // `time_of` returns when the block's last instruction executed.
  template <typename TimeOf>
  void Step(LoopBlock& block, size_t count, bool taken, TimeOf&& time_of);
  bool IsLeft(const TrailPart& part);
  std::optional<Trip> TripAt(const LoopBlock& jump, bool taken);
  void Add(const Trip& trip, const ExitTime& time, bool taken);
  void Close(const ExitTime& time, WaitState state);
  void LookAtCall(const LoopBlock& block);
  static void Note(const TripVerdict& verdict, LoopBlock& block);
  void Forget();
  static int DepthAfter(const TrailPart& part);
  std::optional<size_t> FindInTrail(const LoopBlock& jump) const;
  bool IsFromBegin(size_t found) const;

  LoopBlocks& blocks_;
  WaitLoops& loops_;
  std::vector<Part> trail_;
  std::vector<TrailPart> path_;  // of the trip at hand
  std::optional<Entered> entered_;
  std::optional<SpinStretch> open_;
  const WaitLoop* following_ = nullptr;  // the loop whose trip may be under way again
  size_t next_part_ = 0;                 // of its path
  uint64_t reach_ = 0;  // a trip that begins there or before continues the open wait
  uint64_t position_ = 0;
  uint64_t quiet_since_ = 0;
  uint64_t last_atomic_ = 0;
  // Where the flow that is known without a loss began, and when at the earliest (0: not known).
  uint64_t known_from_ = 0;
  uint64_t known_from_tsc_ = 0;
  bool knows_trail_ = true;
  uint32_t next_number_ = 0;
  AtomicUses uses_;
  CallArguments call_;
  std::unordered_map<uint64_t, CallArguments> calls_;  // by the trail before them
  std::vector<SpinStretch> begun_;
  std::vector<SpinStretch> ended_;
};

}  // namespace flowback
