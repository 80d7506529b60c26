// SPDX-License-Identifier: MIT
#include "replay/profile/flow_stacks.h"

#include <algorithm>

namespace flowback {

void FlowStacks::OnThreadBegin(const ThreadFlow& thread, size_t) {
  Flush();
  thread_ = &thread;
  tsc_ = 0;
}

void FlowStacks::OnBlock(const BlockRun& run) {
  if (run.exit != BlockExit::kTaken) return;
  const TakenBranch branch{.from = run.LastAddress(), .to = run.next, .facts = run.branch};
  OnBranches({&branch, 1}, run.tsc);
}

void FlowStacks::OnBranches(std::span<const TakenBranch> branches, uint64_t tsc) {
  tsc_ = tsc;
  while (!branches.empty()) {
    const auto fit = branches.first(std::min(branches.size(), kDepth - stack_.size()));
    Append(fit);
    branches = branches.subspan(fit.size());
    if (stack_.size() == kDepth) Flush();
  }
}

void FlowStacks::Append(std::span<const TakenBranch> branches) {
  stack_.insert(stack_.end(), branches.begin(), branches.end());
  if (!emulated_) return;
  for (TakenBranch& branch : std::span(stack_).last(branches.size())) {
    branch.facts.cycles = 0;
    branch.facts.cycles_told = BranchFacts::Cycles::kNotTold;
  }
}

void FlowStacks::OnEvent(const TraceEvent& event) {
  if (event.kind != EventKind::kCoreBusRatio) Flush();
}

void FlowStacks::OnLoss(const DataLoss& loss) {
  Lose(loss);
  Flush();
}

void FlowStacks::Flush() {
  if (stack_.empty()) return;
  Take(*thread_, tsc_, stack_);
  stack_.clear();
}

}  // namespace flowback
