// SPDX-License-Identifier: MIT
// What slow instances spent more than normal ones, part by part, and why.
//
// What the slow ones cost beyond the mean of the normal ones is divided among call paths, from the
// region inwards. A path that normal instances hardly ever take is a part as a whole: all that
// happened in it is folded into it. Other paths are divided further. So the parts add up.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "replay/spikes/instances/branch_table.h"
#include "replay/spikes/instances/instance.h"
#include "replay/spikes/instances/instance_groups.h"
#include "replay/spikes/instances/path_tree.h"

namespace flowback {

enum class CauseKind : uint8_t {
  kCallee,        // a function was called that normal instances hardly ever call
  kCalls,         // a function was called more often
  kBranch,        // a branch went where it hardly ever goes in normal instances
  kTrips,         // a loop made more trips
  kInstructions,  // more instructions, but no single branch is the reason
  kSlower,        // no more instructions, but more time
  kSystemCall,    // a system call was made that normal ones hardly ever make
  kSystemTime,    // system calls took longer, or were made more often
  kInterrupted,   // interrupts, faults, preemption
  kLost,
  kQueued,      // it waited for the thread that ends it
  kOtherStack,  // the thread ran on another stack meanwhile
};
// "callee", "branch", ...: as JSON has them.
const char* Name(CauseKind kind);

struct Cause {
  CauseKind kind{};
  uint32_t node = 0;                     // where
  uint32_t edge = BranchTable::kNoEdge;  // kBranch, kTrips: the branch; kCalls: of the loop
  uint32_t loop = BranchTable::kNoEdge;  // kBranch: a loop that runs only then
  double extra = 0;                      // beyond the normal mean, all slow ones together
  double share = 0;                      // of all that is extra
  uint64_t slow_with = 0;                // instances with the cause
  uint64_t normal_with = 0;
  double slow_count = 0;  // calls, trips: the mean of each instance
  double normal_count = 0;
  double chance = 1;  // that instances drawn at random look like that
  // Cycles for each instruction of the path itself; 0: none were counted.
  double slow_cost = 0;
  double normal_cost = 0;
  uint32_t inside = 0;   // the innermost path that has nearly all of `extra`
  ClassTimes classes{};  // the time of slow instances in it, by class
};

struct Causes {
  double extra = 0;          // what slow instances spent beyond the normal mean
  std::vector<Cause> parts;  // the largest first; together with `rest` they are `extra`
  double rest = 0;           // of parts that are too small to name, and savings
};

// What a cost weighs by a measure.
uint64_t WeightOf(const PathCost& cost, InstanceMeasure measure);

// What causes are found in.
struct CauseInput {
  const PathTree& paths;
  const BranchTable& branches;
  const GroupSums& slow;
  const GroupSums& normal;  // not empty
  InstanceMeasure measure = InstanceMeasure::kTime;
  // The edges in the code of a path's function.
  std::function<const std::vector<uint32_t>&(uint32_t node)> edges_of;
};
Causes FindCauses(const CauseInput& input);

}  // namespace flowback
