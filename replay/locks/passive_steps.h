// SPDX-License-Identifier: MIT
// Finds the segments of a flow that the search for waits may pass over: they have no part of a
// wait, whichever flow came before.
//
// A segment is passive where each of its steps leaves the search (SpinFinder) as it would be
// without it, but for what the next store to memory undoes. That depends on what has been learned
// up to there: a loop is looked at until its trips have been work often enough, or until all ways
// round it that threads went so far are proven to be work (loop_proof.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flowback/replay/functions.h"
#include "flowback/replay/symbolizer.h"
#include "replay/flow/segment_steps.h"
#include "replay/locks/loops/loop_blocks.h"
#include "replay/locks/loops/loop_proof.h"
#include "replay/locks/loops/step_graph.h"
#include "replay/timeline/function_table.h"

namespace flowback {

// Belongs to one thread.
class PassiveSteps {
 public:
  // All must outlive it. `blocking`: LockOptions has it.
  PassiveSteps(LoopBlocks& blocks, const ToldRuns& runs, FunctionFinder& functions,
               Symbolizer& symbolizer, bool blocking)
      : blocks_(blocks),
        runs_(runs),
        finder_(functions),
        functions_(symbolizer),
        blocking_(blocking) {}

  // The segment's steps execute next; of all threads, in the order in which they are played.
  void Note(const SegmentSteps& steps);
  // Whether it is passive. `before`: the thread's segment before it. REQUIRES: both were noted.
  bool IsPassive(const SegmentSteps& steps, const SegmentSteps& before);
  // What may matter of the calls in it.
  enum class Calls : uint8_t {
    kNone,
    kOfLocks,  // it may call a lock's function, but no system call in it waits
    kAll,      // a system call may wait: what the search knows of it matters, too
  };
  Calls CallsOf(const SegmentSteps& steps) const;
  bool NeedsCalls(const SegmentSteps& steps) const { return CallsOf(steps) != Calls::kNone; }
  // Calls `visit(space, first, last)` for each block of it: addresses of instructions.
  template <class Visit>
  void ForEachBlock(const SegmentSteps& steps, Visit visit) const {
    for (const SegmentSteps::PerTable& of : steps.tables)
      for (uint32_t block = 0; block < of.ways.size() * kWaysOfWord; ++block)
        if (of.Of(block) != 0)
          visit(&of.table->space(), (*of.table)[block].address, (*of.table)[block].LastAddress());
    for (const uint32_t run : steps.runs)
      visit(runs_[run].space, runs_[run].address, runs_[run].LastAddress());
  }

 private:
  static constexpr size_t kWaysOfWord = SegmentSteps::kWaysOfWord;
  // By block of a table, or by number of a run.
  struct Known {
    std::vector<uint64_t> noted;    // ways, as SegmentSteps has them
    std::vector<uint64_t> settled;  // ways that are passive for ever
    std::vector<uint64_t> calls;    // all ways of blocks whose calls matter
    std::vector<uint64_t> waits;    // of these, blocks that end in a system call that may wait
    std::vector<uint64_t> jumps;    // the way taken, of blocks that end in a jump backwards
  };
  using Branch = std::pair<const AddressSpace*, uint64_t>;
  // Blocks that end in a jump backwards which was not taken in the segment.
  using Candidates = std::vector<const LoopBlock*>;

  template <class Visit>
  bool ForEachWord(const SegmentSteps& steps, Visit visit);
  void NoteWays(Known& known, size_t word, uint64_t ways, const BlockTable* table);
  bool ArePassive(Known& known, size_t word, uint64_t ways, const BlockTable* table,
                  Candidates& not_taken);
  bool IsPassiveBlock(const LoopBlock& block, uint8_t ways, Candidates& not_taken);
  bool MayEndTrip(const LoopBlock& block);
  void AddTaken(const SegmentSteps& steps, std::set<Branch>& taken);
  LoopBlock& BlockOf(const BlockTable* table, uint32_t number);
  bool MayWait(const LoopBlock& block) const;
  bool IsOfLock(const LoopBlock& block);
  static void Grow(Known& known, size_t words);

  LoopBlocks& blocks_;
  const ToldRuns& runs_;
  FunctionFinder& finder_;
  FunctionTable functions_;  // whose names have been asked for
  const bool blocking_;
  StepGraph graph_;
  std::unordered_map<const LoopBlock*, ProofByWays> proofs_;
  std::map<const BlockTable*, Known> tables_;
  Known of_runs_;
};

}  // namespace flowback
