// SPDX-License-Identifier: MIT
#include "replay/branches/branch_sums.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "flowback/decode/code_image.h"

namespace flowback {
namespace {

// Files and offsets of addresses.
class Places {
 public:
  CodePlace Of(const AddressSpace* space, uint64_t address) {
    const CodeMapping* mapping = space == nullptr ? nullptr : space->Find(address);
    if (mapping == nullptr) return {CodePlace::kNoObject, address};
    const auto [known, is_new] =
        numbers_.try_emplace(mapping->section->name(), static_cast<uint32_t>(objects_.size()));
    if (is_new) objects_.push_back(mapping->section->name());
    return {known->second, address - mapping->FileBase()};
  }
  std::vector<std::string> Take() { return std::move(objects_); }

 private:
  std::map<std::string, uint32_t> numbers_;
  std::vector<std::string> objects_;
};

}  // namespace

uint64_t CycleSums::count() const {
  uint64_t count = 0;
  for (const auto& [cycles, times] : exact) count += times;
  return count;
}

uint64_t CycleSums::sum() const {
  uint64_t sum = 0;
  for (const auto& [cycles, times] : exact) sum += cycles * times;
  return sum;
}

uint32_t CycleSums::Quantile(double share) const {
  const auto wanted = static_cast<uint64_t>(std::ceil(share * static_cast<double>(count())));
  uint64_t passed = 0;
  for (const auto& [cycles, times] : exact)
    if ((passed += times) >= wanted) return cycles;
  return 0;
}

void CycleSums::Add(const CycleSums& other) {
  for (const auto& [cycles, times] : other.exact) exact[cycles] += times;
  at_least += other.at_least;
  instructions += other.instructions;
}

void BranchEdge::Add(const BranchEdge& other) {
  times += other.times;
  right += other.right;
  wrong += other.wrong;
  cycles.Add(other.cycles);
}

void BranchSums::Interrupt() {
  place_ = {};
  behind_branch_ = false;
  line_ = 0;
  instructions_ = 0;
}

void BranchSums::OnEvent(const TraceEvent& event) {
  if (const FlowPlace place = Behind(event, place_); place != place_) Interrupt();
}

// The counter counts from branch to branch: what ran ahead of the line is not known.
void BranchSums::AddCycles(const BranchFacts& facts, CycleSums& cycles) const {
  if (facts.cycles_told == BranchFacts::Cycles::kAtLeast) ++cycles.at_least;
  if (facts.cycles_told != BranchFacts::Cycles::kExact || line_ == 0) return;
  ++cycles.exact[facts.cycles];
  cycles.instructions += instructions_;
}

void BranchSums::OnBlock(const BlockRun& run) {
  if (run.lengths.empty()) return;
  if (!place_.GoesOn() || place_.ip != run.address) Interrupt();
  if (behind_branch_) {
    line_ = run.address;
    instructions_ = 0;
  }
  instructions_ += run.lengths.size();
  place_ = Behind(run);
  behind_branch_ = run.exit == BlockExit::kTaken;
  if (run.exit == BlockExit::kFallThrough) return;
  const uint64_t branch = run.LastAddress();
  if (run.exit == BlockExit::kNotTaken) {
    ++not_taken_[{run.space, branch, 0}];
    return;
  }
  if (line_ != 0) ++ranges_[{run.space, line_, branch}];
  Edge& edge = edges_[{run.space, branch, run.next}];
  edge.kind = run.last;
  ++edge.sum.times;
  edge.sum.right += run.branch.prediction == BranchFacts::Prediction::kRight;
  edge.sum.wrong += run.branch.prediction == BranchFacts::Prediction::kWrong;
  AddCycles(run.branch, edge.sum.cycles);
  line_ = 0;
}

BranchReport BranchSums::Take() const {
  Places places;
  std::map<CodePlace, BranchSum> branches;
  const auto branch_at = [&](const Pair& pair) -> BranchSum& {
    const CodePlace place = places.Of(pair.space, pair.from);
    BranchSum& sum = branches[place];
    sum.place = place;
    // The lowest of several, so that the result does not depend on their order.
    if (sum.space == nullptr || pair.from < sum.address) {
      sum.space = pair.space;
      sum.address = pair.from;
    }
    return sum;
  };
  for (const auto& [pair, edge] : edges_) {
    BranchSum& sum = branch_at(pair);
    sum.kind = edge.kind;
    sum.edges[places.Of(pair.space, pair.to)].Add(edge.sum);
    sum.taken.Add(edge.sum);
  }
  for (const auto& [pair, times] : not_taken_) {
    BranchSum& sum = branch_at(pair);
    sum.kind = InstructionClass::kConditional;
    sum.not_taken += times;
  }
  std::map<std::pair<CodePlace, CodePlace>, uint64_t> ranges;
  for (const auto& [pair, times] : ranges_)
    ranges[{places.Of(pair.space, pair.from), places.Of(pair.space, pair.to)}] += times;
  BranchReport report;
  for (auto& [place, sum] : branches) report.branches.push_back(std::move(sum));
  for (const auto& [ends, times] : ranges)
    report.ranges.push_back({ends.first, ends.second, times});
  report.objects = places.Take();
  return report;
}

}  // namespace flowback
