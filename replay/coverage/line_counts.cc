// SPDX-License-Identifier: MIT
#include "replay/coverage/line_counts.h"

#include <algorithm>
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
  // What the instruction leads to within its line is no arrival there.
  void TakeAway(size_t i, uint64_t times) {
    const StaticInstruction& at = instructions_[i];
    uint64_t passed = times;  // to the next instruction
    if (at.kind == InstructionClass::kConditional) {
      const BranchCoverage* branch = BranchAt(at.address);
      passed = branch == nullptr ? 0 : branch->not_taken;
      if (branch != nullptr) Jump(i, at.target, branch->taken);
    } else if (at.kind == InstructionClass::kJump) {
      passed = 0;
      Jump(i, at.target, times);
    } else if (at.kind == InstructionClass::kIndirectJump || at.kind == InstructionClass::kReturn) {
      passed = 0;
    }
    if (i + 1 < instructions_.size() && instructions_[i + 1].address == at.address + at.length)
      Subtract(i, i + 1, passed);
  }

  void Jump(size_t from, uint64_t target, uint64_t times) {
    if (times == 0 || target <= instructions_[from].address) return;
    if (const StaticInstruction* to = code_.InstructionAt(target))
      Subtract(from, static_cast<size_t>(to - instructions_.data()), times);
  }

  void Subtract(size_t from, size_t to, uint64_t times) {
    if (places_[from] == places_[to]) arrivals_[to] -= std::min(arrivals_[to], times);
  }

  // A line of one copy, whose beginnings the compiler tells.
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

  // Those that have a beginning, and code that was moved away from it. Sorted.
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
