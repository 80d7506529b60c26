// SPDX-License-Identifier: MIT
// A thread's call stack at places of its flow, as a debugger would have shown it there.
//
//   StackTaker taker(functions, {{.kind = StackPlace::Kind::kEnd}}, {}, {});
//   player.Play({&thread}, taker);
//   for (const ThreadStack& stack : taker.Take()) Use(stack.frames);
//
// What the flow behind a place tells counts, too: a caller that was not seen calling is found when
// control returns to it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/model/execution.h"
#include "flowback/model/recording.h"
#include "flowback/replay/call_stack.h"
#include "flowback/replay/functions.h"
#include "flowback/replay/player.h"

namespace flowback {

struct StackPlace {
  enum class Kind : uint8_t {
    kInstruction,  // before the thread's instruction of that number, from 0
    kTime,         // before the first element whose time is not before that TSC
    kEnd,          // behind all
  };
  Kind kind = Kind::kEnd;
  uint64_t value = 0;
};

struct StackFrame {
  // Of the instruction with which it goes on; 0: not known.
  uint64_t address = 0;
  const AddressSpace* space = nullptr;
  uint64_t entry_ip = 0;  // the first instruction of the call that was seen; 0: none was
  // The instruction at `address` is what control had come to, not what follows a call: of the
  // innermost frame, and of what a signal or an interrupt had interrupted.
  bool is_exact = false;
  bool is_handler = false;  // the kernel made the call: of a signal, an interrupt
  // The thread had come back to one of several stacks that it had left at one place, and nothing
  // tells which: the frame is that of the one that it had left first.
  bool is_guess = false;
  // Calls like the one of this frame repeat between it and the next frame; how many, is not known.
  bool repeats = false;
};

struct ThreadStack {
  // Why there may be more outside of the outermost frame.
  enum class Outside : uint8_t {
    kNothing,      // there is not: the thread, or its program, began there
    kNotRecorded,  // the trace began inside of it, or its stack was made by what did not return
    kLost,         // what was before was lost, at `loss`
    kNotBegun,     // the thread's flow begins behind the place
  };

  StackPlace place;
  uint64_t instructions = 0;  // of the thread, before the place
  uint64_t tsc = 0;           // known last there; 0: none
  bool reached = true;        // false: the flow ends before the place; it is the stack at the end
  bool in_kernel = false;     // or elsewhere in untraced code
  uint32_t stack = 0;         // as CallStack::stack
  std::vector<StackFrame> frames;  // the innermost first
  Outside outside = Outside::kNotRecorded;
  DataLoss loss;
  std::vector<Call> calls;  // the outermost first; where Options::keep_calls
};

// What a thread's taker needs to know of it beside its flow.
struct ThreadOrigin {
  bool life_begins = false;  // its flow begins with the thread, or with the program that it runs
  ThreadStack inherited{};   // of a child of fork: its parent's at that time, with its calls
};

// Plays one thread. Done when nothing that follows can change what it tells.
class StackTaker final : public PlayConsumer {
 public:
  struct Options {
    CallStack::ExecBetween exec_between{};  // as CallStack::LookForExec
    bool keep_calls = false;
    const MachineInfo* machine = nullptr;  // as CallStack::LookForPauses; outlives the taker
  };
  // `places`: of one kind each, in the order of the flow. `functions` must outlive it.
  StackTaker(FunctionFinder& functions, std::vector<StackPlace> places, ThreadOrigin origin,
             Options options);
  ~StackTaker() override;

  void OnThreadEnd(const ThreadFlow& thread, size_t number) override;
  void OnBlock(const BlockRun& run) override;
  void OnBlocks(const BlockBatch& batch) override;
  void OnEvent(const TraceEvent& event) override;
  void OnLoss(const DataLoss& loss) override;
  bool Done() const override;

  // In the order of the places, once all has been played.
  std::vector<ThreadStack> Take();

  // What follows is for whoever need not play all (kept_stacks.h).

  // All places have been come to.
  bool TookAll() const;
  // What the flow tells of stacks that it has left behind.
  struct Told {
    bool outside = false;           // what lies outside of them, or that nothing more is told
    std::vector<uint64_t> guesses;  // about these, which were made before
  };
  // What was told since the last time.
  Told TakeTold();
  // Whether that changes a stack that was taken.
  bool MayChange(const Told& told) const;
  // What it knows between two elements of the flow, as CallStack::ToBytes, but for what is told of
  // places and the loss behind which it is.
  std::vector<uint8_t> ToBytes(const SpaceNames& spaces) const;
  // What of it a CallStack's FromBytes reads.
  static Bytes StackPart(Bytes bytes);
  // Goes on from there; places that were come to stay. False: as CallStack::FromBytes.
  bool FromBytes(Bytes bytes, const SpaceNames& spaces);
  // What is outside of the outermost call was lost.
  bool IsBehindLoss() const;
  // Known last of the flow so far; 0: none.
  uint64_t tsc() const;
  void SetLoss(const DataLoss& loss);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// `flows`: all of the recording's threads. Plays those whose child the thread is, where there are
// any. Errors: as Player::Play's.
Result<ThreadOrigin> OriginOf(const ThreadFlow& thread, const std::vector<const ThreadFlow*>& flows,
                              const Recording& recording, FunctionFinder& functions,
                              Player& player);

}  // namespace flowback
