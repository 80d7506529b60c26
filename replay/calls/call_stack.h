// SPDX-License-Identifier: MIT
// The call stack of one stream's flow, as calls and returns make it.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flowback/model/block_batch.h"
#include "flowback/model/execution.h"
#include "replay/calls/functions.h"

namespace flowback {

// How a call came onto the stack.
enum class CallEntry : uint8_t {
  kCall,
  kTailCall,    // a jump to a function's entry took the place of the function that jumped
  kRunning,     // it was running when the flow began: its call was not seen
  kReturnedTo,  // likewise, and the flow came to it by a return
  kHandler,     // control came from outside of the flow: a signal, an interrupt
};

// How it went.
enum class CallExit : uint8_t {
  kReturn,
  kTailCall,
  kUnwound,   // control went to a caller further out: longjmp, an exception
  kLost,      // the trace lost what came next
  kReplaced,  // another program took the place of this one: exec
  kEnd,       // the stream ends
};

struct Call {
  uint64_t entry_ip = 0;             // the first instruction of it that was seen
  uint64_t site = 0;                 // of the call or jump; 0: not seen
  uint64_t return_address = 0;       // 0: not known
  uint64_t resume = 0;               // of a handler: where what it interrupted goes on; else 0
  uint64_t function = 0;             // FunctionPiece::id
  uint64_t tsc = 0;                  // known last at its entry; 0: none
  TscInterval bounds;                // of its entry's time; as BlockRun::bounds
  uint64_t instructions_before = 0;  // of the stream, before its entry
  uint64_t self = 0;                 // its own instructions, without those of what it calls
  const AddressSpace* space = nullptr;
  CallEntry entry = CallEntry::kCall;
  bool via_stub =
      false;             // through a procedure linkage table's stub, whose instructions are its own
  bool is_stub = false;  // is such a stub
};

// A time in which the flow was in code that is not traced.
struct UntracedGap {
  enum class Cause : uint8_t {
    kSystemCall,  // SYSCALL and the like
    kAsync,       // an interrupt, a fault
    kFilter,      // a call that left the traced range
  };
  Cause cause{};
  uint64_t site = 0;       // of the last instruction; of the next one for kAsync
  uint64_t begin_tsc = 0;  // 0: not known
  TscInterval begin_bounds;
  uint64_t end_tsc = 0;  // 0: not known, or the trace does not come back
  bool came_back = false;
};

// When a call was left.
struct ExitTime {
  uint64_t tsc = 0;  // 0: not known
  TscInterval bounds;
};

class CallListener {
 public:
  virtual ~CallListener() = default;
  // `depth` counts from 0, the outermost call known.
  virtual void OnEnter(const Call& call, size_t depth) = 0;
  // `instructions` are those since its entry, of what it called too.
  virtual void OnExit(const Call& call, size_t depth, CallExit how, uint64_t instructions,
                      const ExitTime& time) = 0;
  // At the depth that a call made there would have.
  virtual void OnGap(const UntracedGap& gap, size_t depth) = 0;
};

class CallStack {
 public:
  CallStack(FunctionFinder& functions, CallListener& listener)
      : functions_(functions), listener_(listener) {}

  // Whether exec replaced the program between two times, where the recording's other records tell.
  using ExecBetween = std::function<bool(uint64_t begin_tsc, uint64_t end_tsc)>;
  void LookForExec(ExecBetween exec_between) { exec_between_ = std::move(exec_between); }

  // The flow, as ExecutionConsumer receives it.
  void OnBlock(const BlockRun& run);
  void OnBlocks(const BlockBatch& batch);
  void OnEvent(const TraceEvent& event);
  void OnLoss(const DataLoss& loss);
  // The stream has ended; what follows is another one.
  void Finish();

  // The outermost first.
  const std::vector<Call>& calls() const { return calls_; }
  uint64_t instructions() const { return instructions_; }

 private:
  // Where the flow stopped and what it should go on with. It may stop again before an instruction
  // is executed, as at a page that is not there: then `gap` is the newest one.
  struct Stop {
    bool active = false;
    UntracedGap gap;
    UntracedGap::Cause cause{};  // of the first gap
    uint64_t site = 0;           // likewise
    uint64_t begin_tsc = 0;      // likewise
    uint64_t expected = 0;       // address; 0: anywhere
  };

  bool StaysInPiece(const BlockRuns& runs) const;
  void Resume(const BlockRun& run);
  void ResumeElsewhere(const BlockRun& run, const Stop& stop);
  void EndHandler(const FunctionPiece& target, const BlockRun& run);
  void Enter(CallEntry entry, const FunctionPiece& target, const BlockRun& run, uint64_t resume);
  bool IsOtherProgram(const BlockRun& run, const Stop& stop) const;
  void Transfer(const BlockRun& run, uint64_t site, uint64_t after);
  void StopAt(const BlockRun& run, uint64_t site, uint64_t after);
  void BeginStop(UntracedGap::Cause cause, uint64_t site, uint64_t expected);
  void CallTo(const BlockRun& run, uint64_t site, uint64_t after);
  void ReturnTo(const BlockRun& run, uint64_t site);
  void ReturnToUnknown(const BlockRun& run, uint64_t site);
  void FarReturnTo(const BlockRun& run);
  void JumpTo(uint64_t target, const BlockRun& run, uint64_t site);
  void TailCall(const FunctionPiece& target, const BlockRun& run, uint64_t site);
  void Interrupt(const TraceEvent& event);

  void Push(const Call& call);
  void Pop(CallExit how);
  void PopTo(size_t depth, CallExit how);  // until `depth` calls are left
  void Announce();
  void Cut(CallExit how, uint64_t tsc);
  Call Entered(CallEntry entry, uint64_t ip, const AddressSpace* space) const;
  // The depth of the innermost call of the function, or of the innermost handler that resumes
  // there; calls_.size() when there is none.
  size_t DepthOfFunction(uint64_t id) const;
  size_t DepthOfHandler(uint64_t resume) const;
  const FunctionPiece& PieceAt(const AddressSpace* space, uint64_t ip);

  FunctionFinder& functions_;
  ExecBetween exec_between_;
  CallListener& listener_;
  std::vector<Call> calls_;
  // How many calls on the stack have the return address, or are of the function, so that a
  // search through the whole stack happens only when it will find something.
  std::unordered_map<uint64_t, uint32_t> return_addresses_;
  std::unordered_map<uint64_t, uint32_t> on_stack_;
  bool announced_ = true;  // the innermost call has been told to the listener
  Stop stop_;
  const AddressSpace* space_ = nullptr;
  FunctionPiece piece_;  // the last one looked up
  const AddressSpace* piece_space_ = nullptr;
  uint64_t instructions_ = 0;
  uint64_t tsc_ = 0;
  TscInterval bounds_;  // of the moment that the flow is at
};

}  // namespace flowback
