// SPDX-License-Identifier: MIT
// How often the instructions of each object were executed: sums over threads, processes, recordings
// and machines.
//
//   libz.so.1, build-id 3af2...
//     instructions   8c10 x 12   8c14 x 12   8c19 x 9      offsets in the file
//     branches       8c14 taken 3, not taken 9
//     targets        8c40 -> libc.so.6 9a230 x 12
//     losses         overflow 2                            what was not executed may have been
//
// Adding is associative and commutative, so sums can be made of sums.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "flowback/model/block_counts.h"
#include "flowback/model/execution.h"
#include "flowback/replay/loss_tally.h"
#include "flowback/replay/object_image.h"

namespace flowback {

// All offsets are those of bytes in the object's file.
struct InstructionCount {
  uint64_t offset = 0;
  uint64_t times = 0;
  uint8_t length = 0;  // in bytes

  friend bool operator==(const InstructionCount&, const InstructionCount&) = default;
};

// Counts of a conditional branch.
struct BranchCount {
  uint64_t offset = 0;
  uint64_t taken = 0;
  uint64_t not_taken = 0;

  friend bool operator==(const BranchCount&, const BranchCount&) = default;
};

// Where a call or an indirect jump led.
struct TargetCount {
  uint64_t offset = 0;  // of the branch
  InstructionClass kind = InstructionClass::kOther;
  uint32_t object = 0;  // number of the target's object in CoverageCounts; kNoObject: in none
  uint64_t target = 0;  // its offset there; an address where it is in none
  uint64_t times = 0;

  static constexpr uint32_t kNoObject = ~uint32_t{0};
  friend auto operator<=>(const TargetCount&, const TargetCount&) = default;
};

// Code of an object that the process replaced by other code: it is unknown whether it ran.
struct ReplacedRange {
  uint64_t begin = 0;  // offsets in the object's file, half-open
  uint64_t end = 0;

  friend auto operator<=>(const ReplacedRange&, const ReplacedRange&) = default;
};

// Sorts ranges and joins those that overlap or touch.
void Normalize(std::vector<ReplacedRange>& ranges);

// Among ObjectCounts::losses, once for each recording that holds samples only.
inline constexpr const char* kSampledCause = "samples";
// Once for each warning of damage to the recording's file.
inline constexpr const char* kDamagedCause = "damaged file";

// Counts of one object in one mode. Each list is sorted and has an offset once (targets: all but
// times).
struct ObjectCounts {
  ObjectId id;
  CodeMode mode = CodeMode::kX86_64;
  std::vector<InstructionCount> instructions;
  std::vector<BranchCount> branches;
  std::vector<TargetCount> targets;
  // How many losses there were in processes that had the object mapped when they happened, by
  // cause: Name(LossCause), "filtered" (once for each recording that was not to record all),
  // kSampledCause or kDamagedCause. With any, what has no count may have been executed. Losses
  // that hide no instruction are not among them (LeavesCodeUnknown in coverage_counter.h).
  std::map<std::string, uint64_t> losses;

  std::vector<ReplacedRange> replaced;  // sorted, apart

  bool IsKnown() const { return losses.empty() && replaced.empty(); }
  bool operator==(const ObjectCounts& other) const;  // of the ids all, the path too
};

struct CoverageCounts {
  // Sorted by id, then mode. Includes objects that were mapped and never executed.
  std::vector<ObjectCounts> objects;
  uint64_t recordings = 0;
  uint64_t instructions = 0;  // of all flow: what the objects' counts add up to
  bool emulated = false;      // some recording was
  // Losses of the recordings, including those that hide no instruction (LossTally::Kept). The
  // caller adds them, because counting sees only the losses in the flow.
  KeptLosses losses;

  // Associative and commutative: order and grouping do not change the sums. An object with several
  // paths gets the smallest of them. Numbers do not grow beyond 2^64 - 1. Takes time in proportion
  // to `other`, but where that has anything new.
  void Add(const CoverageCounts& other);
  // Something was lost that may have executed any of them.
  void AddLoss(const std::string& cause, uint64_t count);
  bool operator==(const CoverageCounts&) const = default;
};

}  // namespace flowback
