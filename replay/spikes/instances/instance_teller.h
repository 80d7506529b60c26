// SPDX-License-Identifier: MIT
// Finds the instances of a region in one thread's calls, and gives each moment and instruction of
// an instance to the call path in which it was spent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "flowback/replay/call_stack.h"
#include "replay/spikes/instances/instance.h"
#include "replay/spikes/instances/path_tree.h"
#include "replay/threads/account_walk.h"
#include "replay/timeline/function_table.h"

namespace flowback {

struct PairedRegions;  // replay/spikes/instances/paired_regions.h
class ProgramRegions;  // replay/spikes/instances/program_regions.h

// Receives instances in the order of their ends, thread by thread. Numbers count from 0, the same
// in each pass over the flow.
class InstanceSink {
 public:
  virtual ~InstanceSink() = default;
  // Whether the paths and branches of the instance that begins now are wanted.
  virtual bool WantsDetail(uint32_t /*number*/) { return false; }
  // `costs` is empty where no detail was wanted. Its sums are the instance's own.
  virtual void OnInstance(uint32_t number, const Instance& instance, const PathCosts& costs) = 0;
};

// The receivers of instances; all of them outlive the teller.
struct InstancePlan {
  // Whether a call of the function with that entry is an instance. Empty: no call is.
  std::function<bool(const AddressSpace* space, uint64_t entry_ip)> is_region;
  TimeUnit unit;
  FunctionTable& functions;
  PathTree& paths;
  InstanceSink& sink;
  bool counts_cycles = false;            // CYC packets are a processor's
  const PairedRegions* pairs = nullptr;  // null: instances begin and end in one thread
  ProgramRegions* regions = nullptr;     // null: instances are no regions that the program names
};

// Where an instance begins or ends in the thread's flow, or goes to another stack and comes back.
struct InstanceMark {
  uint64_t position = 0;  // number of the thread's instructions before it
  uint32_t number = 0;
  bool begins = false;    // or comes back
  bool switches = false;  // the instance goes on
  bool detail = false;    // was wanted
};

// One thread's.
class InstanceTeller final : public CallListener {
 public:
  // `account`: the thread's, with spans; null: its times are not known. `thread`: its number and
  // tid. `first`: the number of its first instance.
  InstanceTeller(const InstancePlan& plan, const TimeAccount* account, const Instance& thread,
                 uint32_t first);

  // Call it before the flow begins. The stack, whose listener this is, must outlive it.
  void Follow(const CallStack& stack) { stack_ = &stack; }

  bool WantsCallNumbers() const override { return true; }
  void OnEnter(const Call& call, size_t depth) override;
  void OnExit(const Call& call, size_t depth, CallExit how, uint64_t instructions,
              const ExitTime& time) override;
  void OnGap(const UntracedGap& gap, size_t depth) override;
  void OnSwitch(uint32_t stack) override;

  // A region between two places begins or ends where the thread has executed `position`
  // instructions. `calls`: the calls that the thread is in.
  void Begin(uint64_t position, const ExitTime& time, const std::vector<Call>& calls);
  // A region that another thread may have begun is this thread's from now on, or from `begin` on if
  // that is later. Between the two times it waited.
  void BeginPaired(uint64_t position, const TimePoint& begin, const std::vector<Call>& calls);
  void End(uint64_t position, const ExitTime& time) {
    Close(position, time, InstanceState::kWhole);
  }
  // Flow was lost, with this number of bytes of trace.
  void OnLost(uint64_t bytes, bool keeps_place);
  // The flow has ended after this number of instructions. Call it after CallStack::Finish.
  void Finish(uint64_t position);

  // Notes cycles of the flow that ends behind the thread's first `behind` instructions. Call it in
  // order, before the execution there is reported.
  void NoteCycles(uint64_t behind, uint64_t cycles);

  // Forgets the notes about the thread's first `position` instructions.
  void Pass(uint64_t position);

  bool is_open() const { return open_; }
  // Returns the marks since the last call.
  std::vector<InstanceMark> TakeMarks() { return std::exchange(marks_, {}); }
  // Returns how many instances were passed over: they began on a stack of the thread while one was
  // open on another.
  uint64_t overlapping() const { return overlapping_; }
  // The number that the next instance will have.
  uint32_t next_number() const { return next_; }

 private:
  struct Frame {
    uint32_t node = 0;
    uint32_t function = CallPath::kNoFunction;
    uint64_t site = 0;  // of the call: for one that another one jumped to, that other one's
  };

  void Open(const Call& call, size_t depth);
  void StartIn(const std::vector<Call>& calls, const TimePoint& at, uint64_t position);
  void StartAt(const TimePoint& at, uint64_t position);
  void Close(uint64_t position, const ExitTime& time, InstanceState state);
  void Advance(const TimePoint& until, uint64_t position);
  void Give(TimeClass kind, uint64_t time);
  void TakeCycles(uint64_t position, bool counts);
  void CountEntry(uint32_t node);
  uint32_t NodeOf(const UntracedGap& gap);
  uint32_t InterruptedNode();
  Frame FrameOf(const Call& call);
  bool IsResolver(uint32_t function) const;
  uint32_t top() const { return frames_.empty() ? PathTree::kRoot : frames_.back().node; }
  uint32_t top_function() const {
    return frames_.empty() ? instance_.function : frames_.back().function;
  }

  const InstancePlan& plan_;
  const CallStack* stack_ = nullptr;
  AccountWalk walk_;
  Instance instance_;  // the open one
  PathCosts costs_;
  std::vector<Frame> frames_;  // of the calls in the instance
  std::vector<InstanceMark> marks_;
  struct Cycles {
    uint64_t behind = 0;
    uint64_t count = 0;
  };
  static constexpr size_t kManyCycles = 4096;
  std::vector<Cycles> cycles_;  // those from next_cycles_ on have not been given
  size_t next_cycles_ = 0;
  uint64_t position_ = 0;  // instructions that have been given
  size_t base_ = 0;        // the depth of the call that is the instance
  uint32_t next_;
  uint32_t gap_node_ = PathTree::kRoot;  // of the gap since the last move; the root: no gap
  uint32_t on_ = 0;                      // the stack that the thread is on
  uint32_t own_ = 0;                     // the stack that the instance began on
  uint64_t overlapping_ = 0;
  bool open_ = false;
  bool by_call_ = false;  // the instance ends with its call
  bool detail_ = false;
  Frame replaced_;     // the innermost call, whose place another one takes by a jump
  bool tail_ = false;  // its call has been replaced by another one, which comes next
};

}  // namespace flowback
