// SPDX-License-Identifier: MIT
// How often each branch was taken and where it led, how often its prediction was wrong, how many
// cycles it took to come there, and which code ran in a line from one branch to the next.
//
//   401000 ... jne 401000 ... jmp 401080        branch 40100a  taken 9, not taken 1
//                                               range  401000 to 40100a   9 times
//                                               range  401000 to 401012   once
//
// Code is the same wherever it was mapped: sums are by file and offset in it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mix_bits.h"
#include "base/range_table.h"
#include "flowback/model/block_batch.h"
#include "flowback/model/execution.h"
#include "flowback/model/flow_segment.h"
#include "flowback/model/range_consumer.h"
#include "flowback/replay/player.h"
#include "replay/branches/code_places.h"
#include "replay/flow/space_numbers.h"

namespace flowback {

// Cycles from the branch before, as far as the hardware recorded them.
struct CycleSums {
  std::map<uint32_t, uint64_t> exact;  // how often each number of cycles occurred
  uint64_t at_least = 0;               // how often it was more than the counter holds
  uint64_t instructions = 0;           // that executed in the cycles of `exact`

  uint64_t count() const;
  uint64_t sum() const;  // of `exact`
  // The smallest number that this share of `exact` (0 to 1) does not pass; 0: `exact` is empty.
  uint32_t Quantile(double share) const;
  void Add(const CycleSums& other);
};

// A branch that was taken to one place.
struct BranchEdge {
  uint64_t times = 0;
  uint64_t right = 0;  // of them predicted so; if known
  uint64_t wrong = 0;
  CycleSums cycles;

  void Add(const BranchEdge& other);
};

struct BranchSum {
  CodePlace place;
  InstructionClass kind = InstructionClass::kOther;
  uint64_t not_taken = 0;                 // of conditional ones
  std::map<CodePlace, BranchEdge> edges;  // by target, as far as known and kept
  uint64_t elsewhere = 0;                 // of them to other targets than the first kMostTargets
  bool cycles_told = false;               // of any time, also where the line is not known
  // All that were taken, also those to an unknown target. `right` and `wrong` count those that were
  // not taken, too.
  BranchEdge taken;
  const AddressSpace* space = nullptr;  // one that has it, and where
  uint64_t address = 0;

  uint64_t executed() const { return taken.times + not_taken; }
};

// Code that ran in a line, from where a branch led, or the flow began, to the next branch that was
// taken, or to where the flow was interrupted.
struct RangeSum {
  CodePlace begin;  // of the first and of the last instruction
  CodePlace end;
  uint64_t times = 0;
  CycleSums cycles;  // of going through all of it, as far as known
};

struct BranchReport {
  std::vector<std::string> objects;  // files as they were opened
  std::vector<BranchSum> branches;   // by place
  std::vector<RangeSum> ranges;      // by begin, then end
  // How often branches whose source is not known led to a place.
  std::map<CodePlace, uint64_t> arrivals;
};

// Is played threads' flow.
class BranchSums final : public PlayConsumer, public RangeConsumer {
 public:
  // `of_records`: the trace consists of records of branches. A loss is then a whole record, and the
  // flow goes on where the last lost branch led.
  explicit BranchSums(bool of_records = false) : of_records_(of_records) {}

  void OnThreadBegin(const ThreadFlow&, size_t) override;
  void OnThreadEnd(const ThreadFlow&, size_t) override { Interrupt(); }
  void OnBlock(const BlockRun& run) override;
  void OnBlocks(const BlockBatch& batch) override;
  void OnEvent(const TraceEvent& event) override;
  void OnLoss(const DataLoss&) override;
  void OnUnknown(const UnknownFlow& unknown) override;
  RangeConsumer* ranges() override { return this; }
  uint32_t OnNewRange(const BlockTable& table, std::span<const BlockStep> steps,
                      BlockStep next) override;
  void OnRange(uint32_t range, uint64_t times) override;
  void OnRangesEnd(const BlockTable& table, std::span<const BlockStep> steps,
                   uint64_t next) override;

  // The number of targets kept of a branch: an indirect one may have more than memory holds.
  static constexpr uint32_t kMostTargets = 1024;

  // The spaces must still be there.
  BranchReport Take();

 private:
  struct Pair {
    uint32_t space = 0;  // SpaceNumbers::Of
    uint64_t from = 0;
    uint64_t to = 0;
    bool operator==(const Pair&) const = default;
  };
  struct PairHash {
    size_t operator()(const Pair& pair) const {
      const uint64_t mixed =
          MixBits(MixBits(pair.from) ^ pair.to) ^ pair.space * uint64_t{0xc2b2ae3d27d4eb4f};
      return mixed ^ mixed >> 32;
    }
  };
  struct Edge {
    BranchEdge sum;
    InstructionClass kind{};
    bool cycles_told = false;
  };

  // Directions of conditional branches that were not taken.
  struct NotTaken {
    uint64_t times = 0;
    uint64_t right = 0;  // predicted so; if known
    uint64_t wrong = 0;
  };

  // Batches: branch_batches.cc.
  void OnEachBlock(const BlockBatch& batch);
  void CountRanges(const BlockTable& table, std::span<const BlockStep> steps);
  void AddRanges();

  void Interrupt();
  void BeginLine(const BlockRun& run);
  void StandBehind(const BlockRun& run);
  void AddNotTaken(const BlockRun& run);
  void AddTaken(const BlockRun& run);
  void BeginAt(const FlowPlace& place);
  Edge& EdgeOf(const BlockRun& run);
  Edge& EdgeOf(const Pair& pair);
  void AddLine(const BlockRun& run, Edge& edge);
  void NoteFiles(CodePlaces& places) const;

  const bool of_records_;
  SpaceNumbers spaces_;
  std::unordered_map<Pair, Edge, PairHash> edges_;
  std::unordered_map<Pair, uint32_t, PairHash> targets_;    // that `edges_` has; without `to`
  std::unordered_map<Pair, Edge, PairHash> elsewhere_;      // the others'
  std::unordered_map<Pair, Edge, PairHash> stopped_;        // without a known target
  std::unordered_map<Pair, NotTaken, PairHash> not_taken_;  // by place
  std::unordered_map<Pair, uint64_t, PairHash> arrivals_;   // by `to`
  std::unordered_map<Pair, uint64_t, PairHash> ranges_;
  std::unordered_map<Pair, CycleSums, PairHash> range_cycles_;  // of those that have them
  // What each execution of a range of code that ended with a taken branch counts for.
  struct RangeSums {
    Edge* edge = nullptr;
    uint64_t* range = nullptr;
    std::vector<NotTaken*> not_taken;  // the conditional branches on the way
  };
  std::vector<RangeSums> range_sums_;                               // by number
  std::unordered_map<const BlockTable*, RangeTable> range_tables_;  // in no sum yet
  FlowPlace place_;                                                 // where control stands
  bool maybe_source_ = false;   // it is a branch's source, if a record does not name it as a target
  bool line_begins_ = false;    // there: a branch that was taken led to it, or the flow begins
  bool resumes_ = false;        // the next block begins a line, wherever it is
  bool arrives_ = false;        // if a line begins there, a branch from nowhere known led to it
  bool counts_cycles_ = false;  // the next branch's cycles are those of the whole line
  uint64_t line_ = 0;           // where the code in a line began; 0: not known
  uint64_t instructions_ = 0;   // in it so far
  uint64_t last_ = 0;           // the last of them
  uint32_t space_ = 0;          // the address space of that one
};

}  // namespace flowback
