// SPDX-License-Identifier: MIT
#include "replay/coverage/line_counts.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

namespace flowback {
namespace {

class ArrivalCounter {
 public:
  explicit ArrivalCounter(const ObjectCoverage& object)
      : object_(object),
        instructions_(object.code->instructions()),
        code_(*object.code),
        places_(object.places),
        branches_(object.branches),
        arrivals_(object.times) {}

  std::vector<uint64_t> Count() {
    for (size_t i = 0; i < instructions_.size(); ++i)
      if (object_.times[i] != 0) TakeAway(i, object_.times[i]);
    MoveToStatements();
    return std::move(arrivals_);
  }

 private:
  static constexpr size_t kNowhere = ~size_t{0};

  // What the instruction leads to within its line is no arrival there.
  void TakeAway(size_t i, uint64_t times) {
    const StaticInstruction& at = instructions_[i];
    uint64_t passed = times;  // to the next instruction
    if (at.kind == InstructionClass::kConditional) {
      const BranchCoverage* branch = BranchAt(at.address);
      passed = branch == nullptr ? 0 : branch->not_taken;
      if (branch != nullptr) Jump(i, at.target, branch->taken);
    } else if (at.kind == InstructionClass::kJump) {
      Jump(i, at.target, times);
    }
    if (const size_t next = AfterIndex(i); next != kNowhere) Subtract(i, next, passed);
  }

  void Jump(size_t from, uint64_t target, uint64_t times) {
    if (times == 0) return;
    const size_t to = IndexOf(target);
    if (to == kNowhere || (to <= from && places_[to] == places_[from] && LeadsTo(to, from))) return;
    Subtract(from, to, times);
  }

  // Whether control can come from one instruction to another without leaving their line. A jump
  // back between the comparisons of a switch is no round of a loop: nothing leads from its target
  // to it.
  bool LeadsTo(size_t from, size_t to) const {
    constexpr size_t kMost = 4096;  // a line of so much code is taken to loop
    std::vector<size_t> waiting = {from};
    std::set<size_t> seen = {from};
    while (!waiting.empty() && seen.size() < kMost) {
      const size_t i = waiting.back();
      waiting.pop_back();
      if (i == to) return true;
      for (const size_t next : {AfterIndex(i), TargetIndex(i)})
        if (next != kNowhere && places_[next] == places_[to] && seen.insert(next).second)
          waiting.push_back(next);
    }
    return !waiting.empty();
  }

  size_t AfterIndex(size_t i) const {
    const InstructionClass kind = instructions_[i].kind;
    const bool ends = kind == InstructionClass::kJump || kind == InstructionClass::kIndirectJump ||
                      kind == InstructionClass::kReturn;
    return ends || i + 1 >= instructions_.size() || !Follows(i + 1) ? kNowhere : i + 1;
  }

  size_t TargetIndex(size_t i) const {
    const InstructionClass kind = instructions_[i].kind;
    const bool jumps = kind == InstructionClass::kJump || kind == InstructionClass::kConditional;
    return jumps ? IndexOf(instructions_[i].target) : kNowhere;
  }

  size_t IndexOf(uint64_t address) const {
    const StaticInstruction* at = code_.InstructionAt(address);
    return at == nullptr ? kNowhere : static_cast<size_t>(at - instructions_.data());
  }

  void Subtract(size_t from, size_t to, uint64_t times) {
    if (places_[from] == places_[to]) arrivals_[to] -= std::min(arrivals_[to], times);
  }

  // A line of one copy, whose beginnings the compiler marks.
  using Copy = std::pair<SourceLine, uint64_t>;
  Copy CopyAt(size_t i) const { return {places_[i], object_.scopes[i]}; }

  // What arrives in code that was moved away from its line's beginning does not begin the line. But
  // where the beginning is what follows, it is that that was arrived at.
  void MoveToStatements() {
    const std::vector<Copy> told = CopiesOfBoth();
    uint64_t moved = 0;
    for (size_t i = 0; i < instructions_.size(); ++i) {
      if (i == 0 || !Follows(i) || CopyAt(i - 1) != CopyAt(i)) moved = 0;
      if (object_.statements[i]) {
        arrivals_[i] = std::min(object_.times[i], arrivals_[i] + std::exchange(moved, 0));
      } else if (std::ranges::binary_search(told, CopyAt(i))) {
        moved += std::exchange(arrivals_[i], 0);
      }
    }
  }

  // Returns lines with a beginning and with code moved away from it. Sorted.
  std::vector<Copy> CopiesOfBoth() const {
    std::vector<Copy> moved;
    for (size_t i = 0; i < instructions_.size(); ++i)
      if (!object_.statements[i] && places_[i].line != 0) moved.push_back(CopyAt(i));
    std::ranges::sort(moved);
    moved.erase(std::ranges::unique(moved).begin(), moved.end());
    std::vector<bool> begins(moved.size());
    for (size_t i = 0; i < instructions_.size(); ++i) {
      if (!object_.statements[i]) continue;
      const auto at = std::ranges::lower_bound(moved, CopyAt(i));
      if (at != moved.end() && *at == CopyAt(i))
        begins[static_cast<size_t>(at - moved.begin())] = true;
    }
    std::vector<Copy> both;
    for (size_t i = 0; i < moved.size(); ++i)
      if (begins[i]) both.push_back(moved[i]);
    return both;
  }

  bool Follows(size_t i) const {
    const StaticInstruction& before = instructions_[i - 1];
    return before.address + before.length == instructions_[i].address;
  }

  const BranchCoverage* BranchAt(uint64_t address) const {
    const auto found = std::ranges::lower_bound(branches_, address, {}, &BranchCoverage::address);
    return found == branches_.end() || found->address != address ? nullptr : &*found;
  }

  const ObjectCoverage& object_;
  std::span<const StaticInstruction> instructions_;
  const StaticCode& code_;
  std::span<const SourceLine> places_;
  std::span<const BranchCoverage> branches_;
  std::vector<uint64_t> arrivals_;
};

}  // namespace

std::vector<uint64_t> ArrivalsInLines(const ObjectCoverage& object) {
  return ArrivalCounter(object).Count();
}

}  // namespace flowback
