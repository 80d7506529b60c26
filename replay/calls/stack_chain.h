// SPDX-License-Identifier: MIT
// The stacks of a thread at some of its shares, as bytes, and the shares with later facts about
// them.
//
// Each state keeps only its difference from the state before: the number of first bytes that are
// the same, and the other bytes. To make one state, all states before it are put together, which is
// no more work than to copy them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/number_bytes.h"
#include "flowback/base/bytes.h"
#include "flowback/replay/thread_stack.h"
#include "replay/calls/stack_snapshots.h"

namespace flowback {

class StackChain {
 public:
  // A state at the begin of the share. False: what differs takes more than `most` bytes. REQUIRES:
  // shares come in order.
  bool Add(uint32_t share, const std::vector<uint8_t>& state, uint64_t most);
  // Notes the share's facts, if there are any.
  void Note(uint32_t share, StackSnapshots::Told told);

  bool empty() const { return states_.empty(); }
  size_t size() const { return states_.size(); }
  // Bytes of the states, about.
  size_t bytes() const { return differences_.size(); }
  // Returns the number of the last state up to the share; empty: no state comes before.
  std::optional<size_t> LastUpTo(uint32_t share) const;
  uint32_t ShareOf(size_t number) const { return states_[number].share; }
  std::vector<uint8_t> State(size_t number) const;
  // Returns the first share from `share` on whose facts may change the taken stacks.
  std::optional<uint32_t> NextTold(uint32_t share, const StackSnapshots& taker) const;

  void Write(NumberWriter& out) const;
  // Where the reader fails nothing of it may be used.
  void Read(NumberReader& in, size_t shares);

 private:
  struct Kept {
    uint32_t share = 0;
    uint64_t same = 0;  // first bytes
    uint64_t end = 0;   // in differences_; it begins where the one before ends
  };
  struct Noted {
    uint32_t share = 0;
    StackSnapshots::Told told;
  };

  std::vector<Kept> states_;
  std::vector<uint8_t> differences_;
  std::vector<uint8_t> last_;  // state, while they are added
  std::vector<Noted> noted_;
};

}  // namespace flowback
