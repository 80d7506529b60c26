// SPDX-License-Identifier: MIT
// Sums of slow and normal instances that tests make up.
#pragma once

#include <map>
#include <vector>

#include "replay/spikes/causes/causes.h"

namespace flowback {

class CauseData {
 public:
  // Returns the path of a call below `parent`. Functions are numbered as the caller likes.
  uint32_t Call(uint32_t parent, uint32_t function, uint64_t site = 0x10) {
    InstancePath path;
    path.parent = parent;
    path.kind = PathKind::kCall;
    path.function = function;
    path.site = site;
    return paths.Find(path);
  }
  // Returns the path of a system call below `parent`.
  uint32_t SystemCall(uint32_t parent, uint32_t number) {
    InstancePath path;
    path.parent = parent;
    path.kind = PathKind::kSystemCall;
    path.function = number;
    return paths.Find(path);
  }
  // Returns the two ways of a conditional branch: taken and not taken.
  std::pair<uint32_t, uint32_t> Branch(uint64_t address, bool backward = false) {
    BlockRun run;
    static constexpr uint8_t kLength[] = {2};
    run.address = address;
    run.lengths = kLength;
    run.last = InstructionClass::kConditional;
    run.exit = BlockExit::kTaken;
    run.next = backward ? address - 0x20 : address + 0x20;
    const uint32_t taken = branches.OfRun(run);
    run.exit = BlockExit::kNotTaken;
    run.next = address + 2;
    return {taken, branches.OfRun(run)};
  }
  void Add(bool is_slow, const std::map<uint32_t, PathCost>& costs,
           const std::map<uint32_t, uint64_t>& counts) {
    GroupSums& sums = is_slow ? slow : normal;
    ++sums.instances;
    for (const auto& [node, cost] : costs) sums.Add(node, cost, number_);
    for (const auto& [edge, count] : counts) sums.Add(edge, count, number_);
    ++number_;
  }
  Causes Find(InstanceMeasure measure = InstanceMeasure::kInstructions) const {
    std::vector<uint32_t> all;
    for (uint32_t i = 0; i < branches.edges().size(); ++i) all.push_back(i);
    const CauseInput input{
        .paths = paths,
        .branches = branches,
        .slow = slow,
        .normal = normal,
        .measure = measure,
        .edges_of = [&](uint32_t) -> const std::vector<uint32_t>& { return all; }};
    return FindCauses(input);
  }

  PathTree paths;
  BranchTable branches;
  GroupSums slow;
  GroupSums normal;

 private:
  uint32_t number_ = 0;
};

inline PathCost CostOf(uint64_t entries, uint64_t instructions) {
  PathCost cost;
  cost.entries = entries;
  cost.instructions = instructions;
  return cost;
}

}  // namespace flowback
