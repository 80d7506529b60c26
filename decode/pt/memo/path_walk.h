// SPDX-License-Identifier: MIT
// The walk from which a path is learned: through code, as far as a few packets prove.
#pragma once

#include <array>
#include <cstdint>

#include "decode/pt/flow_names.h"
#include "decode/pt/memo/path_key.h"
#include "decode/pt/memo/return_stack.h"
#include "flowback/base/flow_digest.h"
#include "flowback/model/instruction.h"

namespace flowback::pt {

// How the blocks of a path are left, by class of their last instruction.
struct PathCounts {
  InstructionClass branch = InstructionClass::kOther;  // of the TIP
  uint8_t taken = 0;
  uint8_t not_taken = 0;
  uint8_t jumps = 0;
  uint8_t calls = 0;
  uint8_t returns = 0;  // compressed ones
  uint8_t packets = 0;
};

class PathWalk {
 public:
  // Where `begin` leads. The stack is asked for callers, and left as it is. `steps` has room for
  // BlockLists::kMost steps, which are written there; null: they are not wanted.
  PathWalk(BlockGraph& graph, bool compressed_returns, uint32_t begin, const ReturnStack& returns,
           BlockStep* steps)
      : graph_(graph), compressed_returns_(compressed_returns), returns_(returns), steps_(steps) {
    course_.node = begin;
  }
  PathWalk(const PathWalk&) = delete;
  PathWalk& operator=(const PathWalk&) = delete;

  enum class Result : uint8_t {
    kPath,
    kNever,   // the packets contradict the code, or the path is too long for an Answer
    kNotNow,  // a return whose call is not known
  };
  template <class Packets>
  Result Take(Packets packets);

  // REQUIRED of these: the result was kPath.
  uint32_t node() const { return course_.node; }  // where it ends
  Answer answer() const { return Answer::Path(course_.digest.count, !effect_.Nothing()); }
  uint64_t hash() const { return course_.digest.hash; }
  const PathCounts& counts() const { return course_.counts; }
  unsigned blocks() const { return course_.blocks; }
  const BlockStep* steps() const { return steps_; }
  // The number of what it does to the stack. REQUIRES: !table.full().
  EffectTable::Number KeepEffect(EffectTable& table) const;
  // Returns how many calls the stack must hold for the path to be right; valid for any result.
  unsigned needs() const { return effect_.needs; }

 private:
  // What changes with each block, for loops to have in registers.
  struct Course {
    uint32_t node = 0;
    Outcomes outcomes = 1;
    unsigned left = 0;     // outcomes
    unsigned depth = 0;    // the walk's own calls that have not returned
    unsigned deepest = 0;  // of those, ever; what callers' returns left is taken off
    unsigned blocks = 0;
    FlowDigest digest;
    PathCounts counts;
  };

  template <bool kLists>
  Result Walk(bool tip, uint64_t ip);
  template <bool kLists>
  Result Advance(Course& at);
  template <bool kLists>
  Result StepOver(Course& at);
  template <bool kLists>
  Result Return(Course& at);
  template <bool kLists>
  Result FollowTip(Course& at, uint64_t ip);
  template <bool kLists>
  void Pass(Course& at, const Node& node, bool taken);
  bool Push(Course& at);
  uint32_t PopCaller();
  Result Fits(const Course& at) const;

  BlockGraph& graph_;
  const bool compressed_returns_;
  const ReturnStack& returns_;
  BlockStep* const steps_;
  Course course_;
  std::array<uint32_t, ReturnStack::kMaxDeep> own_;     // its own calls that have not returned
  std::array<uint32_t, ReturnStack::kMaxDeep> popped_;  // calls of callers that it takes
  bool any_newest_ = false;     // the newest of those may be any: a TIP's return
  ReturnStack::Effect effect_;  // but its calls
};

}  // namespace flowback::pt
