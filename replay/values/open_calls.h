// SPDX-License-Identifier: MIT
// The calls along a path that have not returned yet, and the registers ahead of each.
//
// A function that keeps to the calling convention returns with the stack pointer and some
// registers as they were before it was called. Nothing proves that a function does, so it is
// assumed only if the path says so (ExecutedPath::keeps_convention). A return that does not lead
// behind the innermost call ends all knowledge about calls, and so does a jump to where a call had
// returned to, as longjmp makes it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "replay/values/value_graph.h"

namespace flowback::values {

class OpenCalls {
 public:
  using Registers = std::array<ValueId, kFollowed>;

  // `behind`: where the call returns to.
  void Call(uint64_t behind, const Registers& before) { open_.push_back({behind, before}); }
  // Ends the innermost call and sets `before` to the registers ahead of it. False: it does not
  // return there.
  bool Return(uint64_t to, Registers& before) {
    if (open_.empty() || open_.back().behind != to) {
      open_.clear();
      return false;
    }
    before = open_.back().before;
    open_.pop_back();
    returned_to_.insert(to);
    return true;
  }
  bool ReturnsTo(uint64_t to) const { return !open_.empty() && open_.back().behind == to; }
  void Jump(uint64_t to) {
    if (returned_to_.contains(to)) open_.clear();
  }
  void Clear() { open_.clear(); }

 private:
  struct OpenCall {
    uint64_t behind = 0;
    Registers before{};
  };

  std::vector<OpenCall> open_;
  std::unordered_set<uint64_t> returned_to_;
};

// The numbers in step_register of what a function keeps for its caller; the stack pointer is the
// first one.
std::span<const uint8_t> KeptInCalls(CodeMode mode);

}  // namespace flowback::values
