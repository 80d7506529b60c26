// SPDX-License-Identifier: MIT
// Which calls of a thread took how many cycles.
//
// From one CycleMark to the next the flow took a known number of cycles. Mostly all of it is of one
// call, which then had exactly those. If calls begin or end in between, the division of the cycles
// is unknown; each call had some of them:
//
//     marks         |        40        |         18          |
//     calls         main main main main | main  f f f  main    |
//     main's own    40                   0 to 18, most likely 7: of 5 instructions it has 2
//     f's           0                    0 to 18, most likely 11
//     main with f   40                   18
//
// The last line is why a call that encloses all others of a stretch is counted apart: it and its
// callers had all of the cycles, whoever else had them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "flowback/model/execution.h"
#include "replay/timeline/call_tree.h"

namespace flowback {

class CycleShares {
 public:
  // Must outlive it.
  explicit CycleShares(CallTree& tree) : tree_(tree) {}

  // Whether there has been a mark: else nothing needs to be given.
  bool active() const { return active_; }
  // Marks that wait for what lies ahead of them to be given.
  size_t waiting() const { return marks_.size() - next_; }
  // Behind the thread's first `behind` instructions; in order. `counts`: in the time asked for.
  void Note(uint64_t behind, CycleMark mark, bool counts);
  // The instructions up to `until` that have not been given yet are the node's, so deep on its
  // stack. In program order, and whenever another call becomes the innermost one.
  void Give(uint64_t until, uint32_t node, size_t depth);
  // The thread goes through that node, where it executes nothing.
  void Pass(uint32_t node, size_t depth) {
    if (!visits_.empty()) Add(node, depth, 0);
  }
  // The flow is lost.
  void Lose();
  // The thread goes to another stack, or begins a new one: what encloses both is the thread alone.
  void Switch() {
    switched_ = switched_ || !visits_.empty();
    ++count_.gaps;
  }
  // A call was found that all those of this stack were made in.
  void MoveIn();
  // For CallTree::Merge.
  CallTree::Moved follows();
  // Adds those that cycles may be given to later.
  void AddNodes(std::vector<uint32_t>& nodes) const {
    for (const Visit& visit : visits_) nodes.push_back(visit.node);
  }
  const CycleTotals& totals() const { return totals_; }
  // The basis of a call's cycles: the cycles of all instructions so far, up to the last mark, and
  // how often cycles were unknown.
  struct Count {
    uint64_t told = 0;
    uint64_t gaps = 0;
  };
  const Count& count() const { return count_; }
  // If the last items had a mark: Count::told after the first one.
  const std::optional<uint64_t>& first_told() const { return first_told_; }

 private:
  struct Mark {
    uint64_t behind = 0;
    CycleMark mark;
    bool counts = false;
  };
  // Instructions since the last mark.
  struct Visit {
    uint32_t node = 0;
    size_t depth = 0;
    uint64_t instructions = 0;
  };
  static constexpr size_t kManyVisits = 256;
  static constexpr size_t kMostVisits = 4096;

  void Add(uint32_t node, size_t depth, uint64_t instructions);
  void Join();
  void Forget();
  void Close(const Mark& mark);
  void Share(uint64_t cycles);
  void Bound(uint64_t cycles);
  uint32_t Enclosing() const;
  void LimitInner(uint32_t enclosing, uint64_t cycles);

  CallTree& tree_;
  bool active_ = false;
  std::vector<Mark> marks_;
  size_t next_ = 0;  // of marks_
  uint64_t given_ = 0;
  std::vector<Visit> visits_;
  bool switched_ = false;  // among them
  bool too_many_ = false;  // some were dropped
  CycleTotals totals_;
  Count count_;
  std::optional<uint64_t> first_told_;
};

}  // namespace flowback
