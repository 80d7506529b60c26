// SPDX-License-Identifier: MIT
// Walks through one thread's flow as a debugger does: from instruction to instruction.
//
// A place of the walk is an instruction that executed and has not yet, where the walk stands.
// Events and losses lie between two places. Where the flow proves which instruction control had
// come to when it ended (a fault, a recorder that stopped), that instruction is the last place,
// though it never executed.
//
//   flow     i0  i1  [event]  i2  [loss]  i3  [stopped at X]
//   places   ^   ^            ^           ^   ^ X
#pragma once

#include <cstdint>
#include <optional>

#include "flowback/replay/flow_index.h"
#include "flowback/replay/thread_cursor.h"
#include "replay/flow/cursor_position.h"

namespace flowback {

// What a walk went past on its way from one place to the next.
struct Passed {
  std::optional<DataLoss> loss;     // the first loss behind which the flow goes on elsewhere
  std::optional<TraceEvent> event;  // the first event
  bool unknown = false;             // flow that was not to be recorded lies between
};

// Needs the memory of a few segments. The index and the thread must outlive it. REQUIRES: the
// thread has instructions.
class ThreadWalk {
 public:
  using Place = ThreadCursor::Place;

  // Stands at the first place.
  ThreadWalk(FlowIndex& index, const IndexedThread& thread);

  const IndexedThread& thread() const { return position_.thread(); }
  // Whether it stands at an instruction that the flow came to and that never executed.
  bool at_end() const { return position_.at_end(); }
  uint64_t pc() const { return at_end() ? End().pc : position_.instruction().address; }
  // The instruction at hand; at the end the last one that executed.
  const CursorInstruction& instruction() const {
    return at_end() ? End().last : position_.instruction();
  }
  const CursorInstruction& last() const { return end_.last; }  // that the thread executed
  // Returns how many of the thread's instructions executed before.
  uint64_t number() const { return position_.number(); }
  // Returns the time there, or the last known time before; 0: unknown.
  uint64_t tsc() const;
  Place place() const { return position_.place(); }

  // `place` is one that place() returned, of a walk of the same thread.
  void Return(const Place& place);
  void ToFirst();
  void ToLast();
  // Moves to the place before the instruction of that number, counted from 0. False: the thread has
  // fewer instructions, and the walk stands at the last place.
  bool ToInstruction(uint64_t number);
  // Moves to the first place whose time is not before `tsc`. False: all places are before it.
  bool ToTime(uint64_t tsc);

  // Moves to the next or previous place. False: no place is left, and the walk stays.
  bool Next(Passed* passed = nullptr);
  bool Previous(Passed* passed = nullptr);
  // Moves to the nearest place from where the position stands, this one included. False: no place
  // lies in that direction, and the walk stands nowhere until it is moved.
  bool SettleOn(Passed* passed);
  bool SettleBack(Passed* passed);

  // The position behind the walk, for searches (replay/debug/machine/stop_search.h), which settle
  // it.
  CursorPosition& position() { return position_; }

 private:
  // Where the flow ends.
  struct EndOfFlow {
    bool is_place = false;
    uint64_t pc = 0;
    CursorInstruction last;  // that executed
    ThreadCursor::Place last_place;
    uint64_t tsc = 0;
  };
  const EndOfFlow& End() const { return end_; }
  void FindEnd();
  void Note(Passed* passed) const;
  uint64_t TimeBefore(size_t share) const;

  CursorPosition position_;
  bool has_times_ = false;
  EndOfFlow end_;
};

}  // namespace flowback
