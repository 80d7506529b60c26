// SPDX-License-Identifier: MIT
// Goes through a thread's flow, forward and backward: by instruction, block, branch, event and
// loss, to the next or last execution of an address, or to any place at once.
//
//   ThreadCursor cursor(index, index.threads()[0]);
//   cursor.ToEnd();
//   while (cursor.PreviousInstruction()) Use(cursor.instruction());
//
// It stands at an element of the flow, or behind the last one. An event stands between the
// instructions that it happened between; where the flow was lost, a loss stands. If a source
// records only parts of the flow, an unknown part stands between two of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "flowback/model/execution.h"
#include "flowback/replay/flow_index.h"

namespace flowback {

// One executed instruction.
struct CursorInstruction {
  uint64_t address = 0;
  uint8_t length = 0;        // bytes
  uint64_t next = 0;         // where control went; 0 when not known
  uint64_t tsc = 0;          // as BlockRun::TscOf
  TscInterval bounds;        // as BlockRun::BoundsOf
  bool first_of_run = true;  // nothing of its block run executed before it
  bool last_of_run = true;
  BlockExit exit = BlockExit::kFallThrough;  // of the run; as BlockRun has them
  InstructionClass last = InstructionClass::kOther;
  CodeMode mode = CodeMode::kX86_64;
  bool in_transaction = false;
  BranchFacts branch;  // known only for the last of a run
  CycleMark cycles;    // known only for the last of a run
  const AddressSpace* space = nullptr;
  const ThreadStay* stay = nullptr;
};

// Needs the memory of a few segments, however long the flow is. Several cursors of one index may
// be used in turn by the thread that it belongs to; they must not outlive it.
class ThreadCursor {
 public:
  enum class Kind : uint8_t { kInstruction, kEvent, kLoss, kUnknown, kEnd };

  // At the thread's first element, or, without decoding anything yet, behind the last one.
  enum class Start : uint8_t { kBegin, kEnd };
  ThreadCursor(FlowIndex& index, const IndexedThread& thread, Start start = Start::kBegin);
  ThreadCursor(ThreadCursor&&) noexcept;
  ThreadCursor& operator=(ThreadCursor&&) noexcept;
  ~ThreadCursor();

  // Returns the kind of item it stands at.
  Kind kind() const;
  const CursorInstruction& instruction() const;  // REQUIRES: kind() == kInstruction
  const TraceEvent& event() const;               // REQUIRES: kind() == kEvent
  const DataLoss& loss() const;                  // REQUIRES: kind() == kLoss
  const UnknownFlow& unknown() const;            // REQUIRES: kind() == kUnknown
  // Returns the number of the thread's instructions before this place.
  uint64_t number() const;
  // When it most likely happened, as BlockRun::tsc; 0: not known, or behind the last element.
  uint64_t tsc() const;

  // A place to come back to, with any cursor of the same thread and index.
  struct Place {
    size_t share = 0;     // of the thread; their number: behind the last element
    size_t item = 0;      // of the share's segment
    uint64_t within = 0;  // of the item's instructions
  };
  Place place() const;
  void Return(const Place& place);

  void ToBegin();
  void ToEnd();  // behind the last element
  // To the thread's instruction of that number, from 0; behind all where there are fewer.
  void ToInstruction(uint64_t number);
  // Moves to the first element whose time is not before `tsc`. An element without a time has the
  // time of the element before it.
  void ToTime(uint64_t tsc);

  // Moves one element forward or back. Returns false if no element is left: Next then stands behind
  // the last element, Previous at the first one.
  bool Next();
  bool Previous();
  // The same, to the next or previous element of a kind.
  bool Next(Kind kind);
  bool Previous(Kind kind);
  bool NextInstruction() { return Next(Kind::kInstruction); }
  bool PreviousInstruction() { return Previous(Kind::kInstruction); }
  // To the nearest instruction ahead, or behind, with which a block run begins.
  bool NextRun();
  bool PreviousRun();
  // To the next or previous branch: an instruction that transferred control, or a conditional one
  // that did not.
  bool NextBranch();
  bool PreviousBranch();
  // Moves to the next or previous execution of the instruction at `address`. Returns false, and
  // does not move, if no execution lies in that direction. Skips segments that the index proves to
  // lack it.
  bool NextAt(uint64_t address);
  bool PreviousAt(uint64_t address);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// All threads of an index at one moment: what did the others do while this one waited?
//
//   CursorGroup group(index);
//   group.ToTime(cursor.tsc());
//   for (size_t i = 0; i < group.size(); ++i) Use(group[i]);
//
// Has a cursor for each thread, but keeps only the few used last in memory: a recording may have
// thousands of threads. Belongs to the index's thread, and must not outlive the index.
class CursorGroup {
 public:
  // The largest number of cursors kept in memory.
  static constexpr size_t kLive = 8;

  // Each at its thread's first element.
  explicit CursorGroup(FlowIndex& index);
  CursorGroup(CursorGroup&&) noexcept;
  CursorGroup& operator=(CursorGroup&&) noexcept;
  ~CursorGroup();

  // Threads, in the index's order.
  size_t size() const;
  // All of them as ThreadCursor::ToTime.
  void ToTime(uint64_t tsc);
  // Returns the thread's cursor, where ToTime or its last user left it. Valid until kLive others
  // have been asked for. REQUIRES: thread < size().
  ThreadCursor& operator[](size_t thread);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowback
