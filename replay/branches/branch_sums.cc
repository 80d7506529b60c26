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

// The line up to here ran, whichever element follows.
void BranchSums::Interrupt() {
  if (line_ != 0 && instructions_ != 0) ++ranges_[{space_, line_, last_}];
  place_ = {};
  line_begins_ = false;
  maybe_source_ = false;
  resumes_ = false;
  arrives_ = false;
  line_ = 0;
  instructions_ = 0;
}

// A thread's first record may be a branch from where nothing is recorded. Then code runs from its
// target on, and no item of flow says so.
void BranchSums::OnThreadBegin(const ThreadFlow&, size_t) {
  Interrupt();
  resumes_ = maybe_source_ = arrives_ = of_records_;
}

// The code that runs next is known, and so a line begins: a branch led there that is lost, or the
// trace states where control is.
void BranchSums::OnLoss(const DataLoss&) {
  Interrupt();
  resumes_ = true;
  arrives_ = of_records_;
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
// branch shows that it was a target. For a branch that stands there alone that is unknown.
void BranchSums::OnUnknown(const UnknownFlow& unknown) {
  BeginAt(Behind(unknown));
  maybe_source_ = true;
  arrives_ = of_records_;
}

// The counter counts from branch to branch: what ran ahead of the line is not known.
void BranchSums::AddLine(const BlockRun& run, Edge& edge) {
  const auto told = run.branch.cycles_told;
  if (told == BranchFacts::Cycles::kAtLeast) ++edge.sum.cycles.at_least;
  if (line_ == 0) return;
  const Pair line{spaces_.Of(run.space), line_, run.LastAddress()};
  ++ranges_[line];
  if (told == BranchFacts::Cycles::kNotTold || !counts_cycles_) return;
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
  return EdgeOf({branch.space, branch.from, run.next});
}

BranchSums::Edge& BranchSums::EdgeOf(const Pair& pair) {
  const Pair branch{pair.space, pair.from, 0};
  if (const auto known = edges_.find(pair); known != edges_.end()) return known->second;
  uint32_t& targets = targets_[branch];
  if (targets == kMostTargets) return elsewhere_[branch];
  ++targets;
  return edges_[pair];
}

// Behind a loss the hardware's counter may have counted since before the loss, unless the loss is a
// record: each record has the cycles since the one before it.
void BranchSums::BeginLine(const BlockRun& run) {
  const bool goes_on = place_.GoesOn() && place_.ip == run.address;
  const bool begins = goes_on ? line_begins_ : resumes_;
  const bool is_alone = maybe_source_ && run.lengths.size() == 1;
  const bool is_source = is_alone && Leaves(run.exit);
  // A record of a branch that was not taken is such a block, too: its line begins with it.
  const bool arrives = arrives_ && !(is_alone && run.exit == BlockExit::kNotTaken);
  if (!goes_on) Interrupt();
  maybe_source_ = resumes_ = arrives_ = false;
  if (!begins || is_source) return;
  line_ = run.address;
  instructions_ = 0;
  counts_cycles_ = goes_on || of_records_;
  if (arrives) ++arrivals_[{spaces_.Of(run.space), 0, run.address}];
}

void BranchSums::AddNotTaken(const BlockRun& run) {
  NotTaken& sum = not_taken_[{spaces_.Of(run.space), run.LastAddress(), 0}];
  ++sum.times;
  sum.right += run.branch.prediction == BranchFacts::Prediction::kRight;
  sum.wrong += run.branch.prediction == BranchFacts::Prediction::kWrong;
}

void BranchSums::AddTaken(const BlockRun& run) {
  Edge& edge = EdgeOf(run);
  edge.kind = run.last;
  ++edge.sum.times;
  edge.sum.right += run.branch.prediction == BranchFacts::Prediction::kRight;
  edge.sum.wrong += run.branch.prediction == BranchFacts::Prediction::kWrong;
  edge.cycles_told = edge.cycles_told || run.branch.cycles_told != BranchFacts::Cycles::kNotTold;
  AddLine(run, edge);
}

void BranchSums::OnBlock(const BlockRun& run) {
  if (run.lengths.empty()) return;
  BeginLine(run);
  instructions_ += run.lengths.size();
  if (run.exit == BlockExit::kNotTaken) AddNotTaken(run);
  if (Leaves(run.exit)) AddTaken(run);
  StandBehind(run);
}

void BranchSums::StandBehind(const BlockRun& run) {
  last_ = run.LastAddress();
  space_ = spaces_.Of(run.space);
  place_ = Behind(run);
  line_begins_ = run.exit == BlockExit::kTaken;
  if (!Leaves(run.exit)) return;
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
  for (const auto& [pair, sum] : not_taken_) note(pair);
  for (const auto& [pair, times] : arrivals_) note(pair);
  for (const auto& [pair, times] : ranges_) note(pair);
  places.NumberByName();
}

BranchReport BranchSums::Take() {
  AddRanges();
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
  for (const auto& [pair, not_taken] : not_taken_) {
    BranchSum& sum = branch_at(pair, InstructionClass::kConditional);
    sum.not_taken += not_taken.times;
    sum.taken.right += not_taken.right;
    sum.taken.wrong += not_taken.wrong;
  }
  std::map<std::pair<CodePlace, CodePlace>, RangeSum> ranges;
  const auto range_of = [&](const Pair& pair) -> RangeSum& {
    return ranges[{place_of(pair.space, pair.from), place_of(pair.space, pair.to)}];
  };
  for (const auto& [pair, times] : ranges_) range_of(pair).times += times;
  for (const auto& [pair, cycles] : range_cycles_) range_of(pair).cycles.Add(cycles);
  BranchReport report;
  for (const auto& [pair, times] : arrivals_)
    report.arrivals[place_of(pair.space, pair.to)] += times;
  for (auto& [place, sum] : branches) report.branches.push_back(std::move(sum));
  for (auto& [ends, sum] : ranges) {
    std::tie(sum.begin, sum.end) = ends;
    report.ranges.push_back(std::move(sum));
  }
  report.objects = places.Take();
  return report;
}

}  // namespace flowback
