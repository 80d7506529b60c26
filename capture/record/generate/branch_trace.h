// SPDX-License-Identifier: MIT
// A thread's taken branches, as an emulated processor with branch stacks records them. The
// emulating engine writes them instead of packets if stacks are requested.
//
//   entry   source, target, flags as perf has them     a branch, or a way into or out of the kernel
//   end     time of the newest entry, where control    the entries since the last end are a stack
//           stands, kStackEnds
//   hole    the same with kHole                        what ran before the next entry is not known
//
// All three have the size of perf's entry, so that a part of a trace has whole ones.
#pragma once

#include <cstdint>
#include <vector>

#include "base/recorded/branch_records.h"
#include "capture/record/generate/thread_clock.h"
#include "flowback/base/bytes.h"
#include "flowback/model/instruction.h"

namespace flowback::record {

struct BranchEntry {
  uint64_t from = 0;  // 0: out of the kernel
  uint64_t to = 0;    // 0: into the kernel
  uint64_t flags = 0;

  // None of perf's: its uppermost 31 bits are reserved.
  static constexpr uint64_t kStackEnds = uint64_t{1} << 63;
  static constexpr uint64_t kHole = uint64_t{1} << 62;

  bool ends_stack() const { return (flags & kStackEnds) != 0; }
  bool is_hole() const { return (flags & kHole) != 0; }
};
static_assert(sizeof(BranchEntry) == 24);

// How a branch of that class is called in an entry.
BranchKind KindOfBranch(InstructionClass instruction);
// Makes an entry for user code. `cycles` since the branch before; more than the field holds are as
// many as it does.
BranchEntry MakeBranchEntry(uint64_t from, uint64_t to, BranchKind kind, uint64_t cycles);

// One thread's. Not thread-safe; what it is made of must outlive it. Recording is off in the
// kernel, as with PacketGenerator.
class BranchTrace {
 public:
  // A stack ends where it has `depth` entries, and wherever recording goes off.
  BranchTrace(uint32_t depth, ThreadClock& clock) : depth_(depth), clock_(clock) {}
  BranchTrace(const BranchTrace&) = delete;
  BranchTrace& operator=(const BranchTrace&) = delete;

  // Control is at `ip` and recording comes on, unless it is on already.
  void Begin(uint64_t ip);
  // It was taken. REQUIRES: recording is on.
  void Branched(uint64_t ip, InstructionClass instruction, uint64_t target);
  // The instruction at `ip` ran and entered the kernel; 0: which one it was is not known. Silent
  // where recording is off.
  void LeftForKernel(uint64_t ip);
  // It did not run: it raised a fault, or something asynchronous took the thread away before it.
  void Interrupted(uint64_t ip);
  // What ran is not known. Control is at `ip` now.
  void Lost(uint64_t ip);
  // Makes later flow have later times than anything done meanwhile. Control is at `ip`.
  void Sync(uint64_t ip);

  bool on() const { return on_; }
  Bytes bytes() const {
    return {reinterpret_cast<const uint8_t*>(entries_.data()),
            entries_.size() * sizeof(BranchEntry)};
  }
  // Forgets the bytes so far: they were handed on.
  void Discard() { entries_.clear(); }

 private:
  void Add(uint64_t from, uint64_t to, BranchKind kind);
  void EndStack(uint64_t ip, uint64_t flags = 0);

  const uint32_t depth_;
  ThreadClock& clock_;
  std::vector<BranchEntry> entries_;  // not handed on yet
  uint32_t in_stack_ = 0;
  uint64_t last_time_ = 0;         // time of the newest branch; 0 before the first branch
  uint64_t before_last_time_ = 0;  // of the one before
  bool on_ = false;
};

}  // namespace flowback::record
