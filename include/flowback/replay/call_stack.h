// SPDX-License-Identifier: MIT
// The calls that a thread is in, as its flow makes them.
//
//   CallStack stack(functions, listener);
//   stack.OnBlocks(...); stack.OnEvent(...); stack.OnLoss(...);    // in program order, over all
//   CPUs stack.Finish();                                                // the next thread may
//   follow
//
// A thread may have several stacks: a coroutine's, a fibre's. Each is a stack of calls of its own,
// and the thread goes from one to another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "flowback/model/block_batch.h"
#include "flowback/model/execution.h"
#include "flowback/model/machine.h"
#include "flowback/replay/functions.h"

namespace flowback {

enum class LinuxAbi : uint8_t;  // base/linux/linux_abi.h

// How a call came onto the stack.
enum class CallEntry : uint8_t {
  kCall,
  kTailCall,    // a jump to a function's entry took the place of the function that jumped
  kRunning,     // it was running when the flow began: its call was not seen
  kReturnedTo,  // not seen either, and reached by a return: it lies outside of all that was
                // there before, back to where the flow began
  kHandler,     // control came from outside of the flow: a signal, an interrupt
  kNewStack,    // the first of another stack
};

// How a call ended.
enum class CallExit : uint8_t {
  kReturn,
  kTailCall,
  kUnwound,   // control went to a caller further out: longjmp, an exception
  kLost,      // the trace lost what came next
  kReplaced,  // another program took the place of this one: exec
  kEnd,       // the thread's flow ends
  kPaused,    // the recorder stopped at the end of the part that was to be recorded
};

struct Call {
  uint64_t entry_ip = 0;             // the first instruction of it that was seen
  uint64_t site = 0;                 // of the call or jump; 0: not seen
  uint64_t return_address = 0;       // 0: not known
  uint64_t resume = 0;               // of a handler: where what it interrupted goes on; else 0
  uint64_t function = 0;             // FunctionPiece::id
  uint64_t tsc = 0;                  // known last at its entry; 0: none
  TscInterval bounds;                // of its entry's time; as BlockRun::bounds
  uint64_t instructions_before = 0;  // of the thread, before its entry
  uint64_t elsewhere_before = 0;     // of those, on other stacks since its own was first gone to
  uint64_t self = 0;                 // its own instructions, without those of what it calls
  const AddressSpace* space = nullptr;
  CallEntry entry = CallEntry::kCall;
  // Through a procedure linkage table's stub, whose instructions are its own.
  bool via_stub = false;
  bool is_stub = false;  // is such a stub
  // An endless recursion was interrupted in it: between it and its caller may be any number of
  // further calls of the same functions (LossCause::kDepthUnknown).
  bool repeats = false;
  // How its code used the stack pointer (decode/instruction/stack_use.h).
  uint8_t stack_use = 0;  // StackUseFlag bits
  uint32_t kept_in = 0;   // StackUse::keeps
};

// A time in which the flow was in code that is not traced.
struct UntracedGap {
  enum class Cause : uint8_t {
    kSystemCall,  // SYSCALL or another instruction that enters the kernel
    kAsync,       // an interrupt, a fault
    kFilter,      // a call that left the traced range
  };
  Cause cause{};
  uint64_t site = 0;       // of the last instruction; of the next one for kAsync
  uint64_t begin_tsc = 0;  // 0: not known
  TscInterval begin_bounds;
  uint64_t end_tsc = 0;  // 0: not known, or the trace does not come back
  bool came_back = false;
  const AddressSpace* space = nullptr;  // in which `site` lies
  // Number of a kSystemCall, if requested and proven by the code before it, and the Linux table of
  // the number.
  std::optional<uint32_t> call_number;
  LinuxAbi call_abi{};  // x86-64 by default
};

// When a call was left.
struct ExitTime {
  uint64_t tsc = 0;  // 0: not known
  TscInterval bounds;
};

// The thread came back to one of several stacks that it had left at the same place; which one is
// not known yet.
struct StackGuess {
  uint64_t number = 0;
  size_t depth = 0;  // how many of the outermost calls may be another stack's
  size_t left = 0;   // calls that were left since
};

// A stack that the thread was not on.
struct LeftStack {
  const std::vector<Call>& calls;
  std::vector<StackGuess> guesses;  // the outermost first
};

// A call into a function about which nothing is unusual, or a return to where the innermost call
// was made.
struct UsualMove {
  uint64_t instructions = 0;  // of the thread, until then
  uint64_t tsc = 0;           // as Call::tsc and ExitTime::tsc
  TscInterval bounds;
  bool enters = false;    // a call; else one is left
  CallEntry entry{};      // of the one that is left
  uint64_t entry_ip = 0;  // of the one that is entered
  // For an entered call: FunctionPiece::id. For a call that is left: the instructions since its
  // entry, with those of its callees.
  uint64_t value = 0;
};

// How usual calls and returns, which are very many, are delivered.
enum class UsualCallDelivery : uint8_t {
  kEach,      // by OnEnter and OnExit, as all others
  kTogether,  // by OnUsual
  kNot,
};

class CallListener {
 public:
  virtual ~CallListener() = default;
  // The same at all times.
  virtual UsualCallDelivery WantsUsual() const { return UsualCallDelivery::kEach; }
  // Moves in their order, all of them in `space`: earlier deliveries lie before them.
  virtual void OnUsual(std::span<const UsualMove> /*moves*/, const AddressSpace* /*space*/) {}
  // `depth` counts from 0, the outermost call known of the stack that the thread is on.
  virtual void OnEnter(const Call& call, size_t depth) = 0;
  // `instructions` counts the call's instructions since its entry, with those of its callees.
  virtual void OnExit(const Call& call, size_t depth, CallExit how, uint64_t instructions,
                      const ExitTime& time) = 0;
  // Whether gaps have UntracedGap::call_number, which takes time to find.
  virtual bool WantsCallNumbers() const { return false; }
  // At the depth that a call made there would have.
  virtual void OnGap(const UntracedGap& gap, size_t depth) = 0;
  // Later calls are on another stack, whose calls are as they were when it was left. The first
  // stack is number 0; a number is not given again.
  virtual void OnSwitch(uint32_t /*stack*/) {}
  // The thread was not on the stack that the guess of that number took it to be on, but on `stack`,
  // which was `right` when it was left. The calls that differ are left on the one and entered on
  // the other now. That is a guess again, `next`.
  virtual void OnCorrection(uint64_t /*guess*/, uint64_t /*next*/, uint32_t /*stack*/,
                            const LeftStack& /*right*/) {}
  // It was on that stack.
  virtual void OnCertain(uint64_t /*guess*/) {}
  // The thread's first call has returned to `address`, in the innermost of these: they lie outside
  // of all calls so far. They are entered now.
  virtual void OnInherited(const std::vector<Call>& /*calls*/, uint64_t /*address*/) {}
};

// Needs memory for the calls that are open: some hundred bytes each, of some two million at most.
// Deeper stacks are reported as lost, and so are the stacks left longest ago where there are more
// than kMostStacks: what switches stacks in a way that is not understood seems to call for ever.
class CallStack {
 public:
  static constexpr size_t kMostCalls = size_t{1} << 21;
  static constexpr size_t kMostStacks = size_t{1} << 14;

  // Both must outlive it.
  CallStack(FunctionFinder& functions, CallListener& listener);
  CallStack(CallStack&&) noexcept;
  CallStack& operator=(CallStack&&) noexcept;
  ~CallStack();

  // Whether exec replaced the program between two times, if the recording's other records show it.
  using ExecBetween = std::function<bool(uint64_t begin_tsc, uint64_t end_tsc)>;
  void LookForExec(ExecBetween exec_between);

  // Where a recording is of parts of the flow, from one function to another (WatchPlace), its
  // recorder stops in the one and goes on in the other. The flow in between is unknown, so all
  // calls end there, and none of them counts as the caller of later code. Without this the stack
  // has no pauses, and later code counts as a signal's handler.
  void LookForPauses(const MachineInfo& machine);

  // The thread has made no stack before its flow begins. Else one that was not seen may be what it
  // goes to, and which it is is always a guess.
  void BeginsWithThread();
  // The calls that the thread's parent was in when it made the thread, whose stack may be a copy of
  // its parent's. It is a copy if the first return seen returns as the innermost of these calls
  // would.
  void Inherit(std::vector<Call> calls);

  // The flow, as ExecutionConsumer receives it.
  void OnBlock(const BlockRun& run);
  void OnBlocks(const BlockBatch& batch);
  // The flow has come to the run, but has executed none of it yet. OnBlock follows.
  void Arrive(const BlockRun& run);
  void OnEvent(const TraceEvent& event);
  void OnLoss(const DataLoss& loss);
  // The thread's flow has ended; what follows is another one's.
  void Finish();

  // Calls of the current stack, the outermost first.
  const std::vector<Call>& calls() const;
  // Returns the number of the current stack, as passed to OnSwitch.
  uint32_t stack() const;
  uint64_t instructions() const;
  // Guesses about the calls of that stack, the outermost first.
  std::vector<StackGuess> guesses() const;
  // Where the flow stopped in untraced code, and has not gone on: the address of the instruction
  // that it should go on with; 0: it has gone on, or that is not known.
  uint64_t stopped_at() const;
  // Returns the number of guesses made about this thread so far; the last guess has that number.
  uint64_t guess_count() const;

 private:
  friend class CallStackArchive;  // replay/calls/shadow_stack/call_stack_archive.h
  friend class StackLeaper;       // replay/calls/shadow_stack/stack_leap.h
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowback
