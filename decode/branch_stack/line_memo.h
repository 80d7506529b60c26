// SPDX-License-Identifier: MIT
// Lines that the code has agreed with, known by heart: most pairs of records come again many times,
// and what lies between them is walked once.
//
//   where the line begins, source, target, kind, code   ->   the blocks of the line
//
// Only what executed as a whole is kept; an interrupt, or a record that the code contradicts, is
// judged anew each time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/recorded/branch_records.h"
#include "decode/branch_stack/straight_line.h"
#include "decode/flow/block_graph.h"
#include "flowback/base/flow_digest.h"

namespace flowback::branch_stack {

struct KnownLine {
  flow::BlockGraph* graph = nullptr;
  uint32_t node = 0;    // the block that ends in the branch
  uint32_t number = 0;  // its own, among the memo's
  uint32_t passed = 0;  // where the blocks ahead of that are kept
  uint32_t passed_count = 0;
};

// Belongs to one decoder, like the graphs, which must outlive it.
class LineMemo {
 public:
  struct Key {
    uint64_t begin = 0;  // of the line
    uint64_t from = 0;
    uint64_t to = 0;
    uint32_t code = 0;  // of CodeNumber, and the branch's kind
  };

  LineMemo();

  // A number for the code that a stack ran in, to be given to Key::code. `names_compare`: as in
  // BranchStackConfig.
  uint32_t CodeNumber(const flow::BlockGraph& usual, bool names_compare);
  static uint32_t WithKind(uint32_t code, BranchKind kind) {
    return code << 8 | static_cast<uint32_t>(kind);
  }

  // Null: it is not known. Valid until the next Add.
  const KnownLine* Find(const Key& key) const {
    for (size_t at = SlotOf(key);; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.line == 0) return nullptr;
      if (slot.Has(key)) return &lines_[slot.line];
    }
  }
  // REQUIRES: it is not known, and `line` leads to the branch. Null: there is no room for more.
  const KnownLine* Add(const Key& key, flow::BlockGraph& graph, const StraightLine& line);
  std::span<const uint32_t> Passed(const KnownLine& line) const {
    return std::span(passed_).subspan(line.passed, line.passed_count);
  }

 private:
  // No program has that many lines: each line takes some code of its own.
  static constexpr size_t kMostLines = size_t{1} << 18;
  static constexpr size_t kMostPassed = size_t{1} << 22;
  // A key and its line; two of them fill a line of the cache.
  struct alignas(32) Slot {
    uint64_t begin = 0;
    uint64_t from = 0;
    uint64_t to = 0;
    uint32_t code = 0;
    uint32_t line = 0;  // 0: free

    Key key() const { return {.begin = begin, .from = from, .to = to, .code = code}; }
    bool Has(const Key& key) const {
      return begin == key.begin && from == key.from && to == key.to && code == key.code;
    }
  };

  size_t SlotOf(const Key& key) const {
    const uint64_t mixed =
        (key.begin * 3 + key.from) * FlowDigest::kFactor ^ (key.to + key.code) * 0xc2b2ae3d27d4eb4f;
    return (mixed ^ mixed >> 29) & mask_;
  }
  void Grow();

  std::map<std::pair<const flow::BlockGraph*, bool>, uint32_t> codes_;
  std::vector<Slot> slots_;
  size_t mask_;
  std::vector<KnownLine> lines_;  // from 1
  std::vector<uint32_t> passed_;
};

}  // namespace flowback::branch_stack
