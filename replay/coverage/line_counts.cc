// SPDX-License-Identifier: MIT
#include "replay/coverage/line_counts.h"

#include <algorithm>

namespace flowback {
namespace {

class ArrivalCounter {
 public:
  ArrivalCounter(const StaticCode& code, std::span<const uint64_t> times,
                 std::span<const SourceLine> places, std::span<const BranchCoverage> branches)
      : instructions_(code.instructions()),
        code_(code),
        places_(places),
        branches_(branches),
        arrivals_(times.begin(), times.end()) {}

  std::vector<uint64_t> Count(std::span<const uint64_t> times) {
    for (size_t i = 0; i < instructions_.size(); ++i)
      if (times[i] != 0) TakeAway(i, times[i]);
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

  const BranchCoverage* BranchAt(uint64_t address) const {
    const auto found = std::ranges::lower_bound(branches_, address, {}, &BranchCoverage::address);
    return found == branches_.end() || found->address != address ? nullptr : &*found;
  }

  std::span<const StaticInstruction> instructions_;
  const StaticCode& code_;
  std::span<const SourceLine> places_;
  std::span<const BranchCoverage> branches_;
  std::vector<uint64_t> arrivals_;
};

}  // namespace

std::vector<uint64_t> ArrivalsInLines(const StaticCode& code, std::span<const uint64_t> times,
                                      std::span<const SourceLine> places,
                                      std::span<const BranchCoverage> branches) {
  return ArrivalCounter(code, times, places, branches).Count(times);
}

}  // namespace flowback
