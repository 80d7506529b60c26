// SPDX-License-Identifier: MIT
#include "replay/branches/branch_sums.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace flowback {
namespace {

bool Leaves(BlockExit exit) { return exit == BlockExit::kTaken || exit == BlockExit::kStopped; }

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

// What ran in a line up to here ran, whatever comes behind.
void BranchSums::Interrupt() {
  if (line_ != 0 && instructions_ != 0) ++ranges_[{space_, line_, last_}];
  place_ = {};
  line_begins_ = false;
  maybe_source_ = false;
  line_ = 0;
  instructions_ = 0;
}

// The flow begins there, behind a system call or what was not traced: what runs next is a line's
// begin, as behind a branch.
void BranchSums::BeginAt(const FlowPlace& place) {
  Interrupt();
  place_ = place;
  line_begins_ = place.GoesOn();
}

void BranchSums::OnEvent(const TraceEvent& event) {
  if (const FlowPlace place = Behind(event, place_); place != place_) BeginAt(place);
}

// Control is certain again at a branch's target, as behind a system call, or at a branch's source,
// where a stack begins with it: what ran ahead of that is not known. Code that ran up to a later
// branch tells that it was a target. Of a branch that stands there alone nothing does.
void BranchSums::OnUnknown(const UnknownFlow& unknown) {
  BeginAt(Behind(unknown));
  maybe_source_ = true;
}

// The counter counts from branch to branch: what ran ahead of the line is not known.
void BranchSums::AddLine(const BlockRun& run, Edge& edge) {
  const auto told = run.branch.cycles_told;
  if (told == BranchFacts::Cycles::kAtLeast) ++edge.sum.cycles.at_least;
  if (line_ == 0) return;
  const Pair line{spaces_.Of(run.space), line_, run.LastAddress()};
  ++ranges_[line];
  if (told == BranchFacts::Cycles::kNotTold) return;
  CycleSums& of_line = range_cycles_[line];
  if (told == BranchFacts::Cycles::kAtLeast) {
    ++of_line.at_least;
    return;
  }
  for (CycleSums* const cycles : {&of_line, &edge.sum.cycles}) {
    ++cycles->exact[run.branch.cycles];
    cycles->instructions += instructions_;
  }
}

BranchSums::Edge& BranchSums::EdgeOf(const BlockRun& run) {
  const Pair branch{spaces_.Of(run.space), run.LastAddress(), 0};
  if (run.exit == BlockExit::kStopped && run.next == 0) return stopped_[branch];
  const Pair pair{branch.space, branch.from, run.next};
  if (const auto known = edges_.find(pair); known != edges_.end()) return known->second;
  uint32_t& targets = targets_[branch];
  if (targets == kMostTargets) return elsewhere_[branch];
  ++targets;
  return edges_[pair];
}

void BranchSums::OnBlock(const BlockRun& run) {
  if (run.lengths.empty()) return;
  if (!place_.GoesOn() || place_.ip != run.address) Interrupt();
  const bool is_source = maybe_source_ && run.lengths.size() == 1 && Leaves(run.exit);
  maybe_source_ = false;
  if (line_begins_ && !is_source) {
    line_ = run.address;
    instructions_ = 0;
  }
  instructions_ += run.lengths.size();
  last_ = run.LastAddress();
  space_ = spaces_.Of(run.space);
  place_ = Behind(run);
  line_begins_ = run.exit == BlockExit::kTaken;
  if (run.exit == BlockExit::kFallThrough) return;
  const uint64_t branch = run.LastAddress();
  if (run.exit == BlockExit::kNotTaken) {
    ++not_taken_[{space_, branch, 0}];
    return;
  }
  Edge& edge = EdgeOf(run);
  edge.kind = run.last;
  ++edge.sum.times;
  edge.sum.right += run.branch.prediction == BranchFacts::Prediction::kRight;
  edge.sum.wrong += run.branch.prediction == BranchFacts::Prediction::kWrong;
  edge.cycles_told = edge.cycles_told || run.branch.cycles_told != BranchFacts::Cycles::kNotTold;
  AddLine(run, edge);
  line_ = 0;
  instructions_ = 0;
}

void BranchSums::NoteFiles(CodePlaces& places) const {
  const auto note = [&](const Pair& pair) {
    places.Of(spaces_.At(pair.space), pair.from);
    places.Of(spaces_.At(pair.space), pair.to);
  };
  for (const auto& [pair, edge] : edges_) note(pair);
  for (const auto& [pair, edge] : elsewhere_) note(pair);
  for (const auto& [pair, edge] : stopped_) note(pair);
  for (const auto& [pair, times] : not_taken_) note(pair);
  for (const auto& [pair, times] : ranges_) note(pair);
  places.NumberByName();
}

BranchReport BranchSums::Take() const {
  CodePlaces places;
  NoteFiles(places);
  const auto place_of = [&](uint32_t space, uint64_t address) {
    return places.Of(spaces_.At(space), address);
  };
  std::map<CodePlace, BranchSum> branches;
  std::map<CodePlace, uint32_t> chosen;  // BranchSum::space by its number
  const auto branch_at = [&](const Pair& pair, InstructionClass kind) -> BranchSum& {
    const CodePlace place = place_of(pair.space, pair.from);
    BranchSum& sum = branches[place];
    const auto [known, is_new] = chosen.try_emplace(place, pair.space);
    // The lowest of several, so that the result does not depend on their order.
    if (is_new || std::tie(pair.from, pair.space) <= std::tie(sum.address, known->second)) {
      known->second = pair.space;
      sum.space = spaces_.At(pair.space);
      sum.address = pair.from;
      sum.kind = kind;
    }
    sum.place = place;
    return sum;
  };
  const auto add_taken = [&](const Pair& pair, const Edge& edge) -> BranchSum& {
    BranchSum& sum = branch_at(pair, edge.kind);
    sum.cycles_told = sum.cycles_told || edge.cycles_told;
    sum.taken.Add(edge.sum);
    return sum;
  };
  for (const auto& [pair, edge] : edges_)
    add_taken(pair, edge).edges[place_of(pair.space, pair.to)].Add(edge.sum);
  for (const auto& [pair, edge] : elsewhere_) add_taken(pair, edge).elsewhere += edge.sum.times;
  for (const auto& [pair, edge] : stopped_) add_taken(pair, edge);
  for (const auto& [pair, times] : not_taken_)
    branch_at(pair, InstructionClass::kConditional).not_taken += times;
  std::map<std::pair<CodePlace, CodePlace>, RangeSum> ranges;
  const auto range_of = [&](const Pair& pair) -> RangeSum& {
    return ranges[{place_of(pair.space, pair.from), place_of(pair.space, pair.to)}];
  };
  for (const auto& [pair, times] : ranges_) range_of(pair).times += times;
  for (const auto& [pair, cycles] : range_cycles_) range_of(pair).cycles.Add(cycles);
  BranchReport report;
  for (auto& [place, sum] : branches) report.branches.push_back(std::move(sum));
  for (auto& [ends, sum] : ranges) {
    std::tie(sum.begin, sum.end) = ends;
    report.ranges.push_back(std::move(sum));
  }
  report.objects = places.Take();
  return report;
}

}  // namespace flowback
