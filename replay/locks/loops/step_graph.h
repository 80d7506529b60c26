// SPDX-License-Identifier: MIT
// How the code that threads executed hangs together: which blocks led where.
//
//   A:  cmp  [rdi], 0
//       je   C
//   B:  mov  [rsi], 1
//   C:  jmp  A
//
// Each block knows the ways in which it was left. So it shows whether some way leads from one block
// to another without a store to memory, which would end each trip of a loop that waits. Here C
// closes no such loop although it jumps backwards, as long as the `je` was never taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "flowback/model/block_batch.h"
#include "replay/locks/loops/loop_blocks.h"

namespace flowback {

// Needs memory for the code that executed. Belongs to one thread.
class StepGraph {
 public:
  // The block executed and was left in these ways (step_way). Blocks must outlive the graph.
  void Add(const LoopBlock& block, uint8_t ways);
  // Whether the search for loops that wait can find a trip that the block's last branch ends: some
  // way leads from the branch's target to the block over blocks that do not store. A function that
  // is called on the way is gone through like that, too. A branch whose trips are known as work
  // ends those that go over it. REQUIRES: the block has a branch.
  bool MayEndTrip(const LoopBlock& block);
  // Whether a block that ends with the instruction at `last` was left in this way (step_way).
  bool WasLeft(const AddressSpace* space, uint64_t last, uint8_t way) const {
    const auto found = left_.find({space, last});
    return found != left_.end() && (found->second & way) != 0;
  }
  // Grows with each new way.
  uint64_t changes() const { return changes_; }

 private:
  struct Node {
    const LoopBlock* block = nullptr;
    uint8_t ways = 0;
    uint64_t target = 0;    // of its last instruction; 0: it has none that is known
    uint64_t asked_at = 0;  // changes_ when MayEndTrip was last found to be false
  };
  using Place = std::pair<const AddressSpace*, uint64_t>;
  // A search for a block, or for where a function returns.
  struct Search {
    const LoopBlock* end = nullptr;  // null: any return
    std::unordered_set<const Node*> seen;
    std::vector<const Node*> open;
    bool found = false;  // or it gave up
  };
  // Whether a function may return without a store.
  struct Returning {
    uint64_t asked_at = 0;  // changes_ then
    bool may = false;
  };
  static constexpr size_t kMostSeen = 4096;
  static constexpr size_t kMostWithin = 8;

  bool Run(Search& search);
  bool MayReturn(const AddressSpace* space, uint64_t entry);

  void GoTo(Search& search, const AddressSpace* space, uint64_t address) const;
  void GoInto(Search& search, const AddressSpace* space, uint64_t begin, uint64_t end) const;
  void GoOn(Search& search, const Node& node);
  void GoOverCall(Search& search, const Node& node);
  void Visit(Search& search, const Node& node) const;
  static uint64_t TargetOf(const LoopBlock& block);

  std::unordered_map<const LoopBlock*, Node> nodes_;
  std::map<Place, std::vector<const Node*>> by_begin_;
  std::map<Place, uint8_t> left_;  // ways, by the blocks' last instructions
  std::map<Place, Returning> returning_;
  std::vector<Place> within_;  // functions about which is being asked
  bool cut_ = false;           // one of them was come to again
  uint64_t changes_ = 1;
};

}  // namespace flowback
