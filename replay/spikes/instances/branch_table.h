// SPDX-License-Identifier: MIT
// The directions that branches took within instances: each direction of a conditional branch, and
// each target of an indirect jump, is an edge. Edges have the same number whichever decoder and
// address space the flow comes from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flowback/decode/code_image.h"
#include "flowback/model/block_batch.h"
#include "flowback/model/execution.h"

namespace flowback {

struct BranchWay {
  uint64_t address = 0;  // of the branch, where it was seen first
  uint64_t target = 0;   // where control went
  const AddressSpace* space = nullptr;
  bool taken = false;
  bool indirect = false;
  uint32_t other = UINT32_MAX;  // the other direction of a conditional branch, if it was seen

  // A loop's branch back to its begin.
  bool IsBackward() const { return taken && target <= address; }
};

class BranchTable {
 public:
  static constexpr uint32_t kNoEdge = UINT32_MAX;
  static constexpr size_t kMostEdges = size_t{1} << 20;

  BranchTable() = default;
  // Takes the edges of another table, to look at: OfStep and OfRun do not know them.
  explicit BranchTable(std::vector<BranchWay> edges) : edges_(std::move(edges)) {}

  const std::vector<BranchWay>& edges() const { return edges_; }

  // Returns the edge at the end of the batch's step, or kNoEdge: it ends with no branch that can go
  // several ways.
  uint32_t OfStep(const BlockBatch& batch, size_t number) {
    const BlockTable& table = *batch.table;
    const BlockStep step = batch.steps[number];
    if (last_table_ == &table && step.value < last_->steps.size()) {
      const uint32_t answer = last_->steps[step.value];
      if (answer >= kFirstEdge) return answer - kFirstEdge;
      if (answer == kNoBranch) return kNoEdge;
    }
    const bool is_last = number + 1 == batch.steps.size();
    return AskStep(table, step,
                   is_last ? batch.next : table[batch.steps[number + 1].number()].address);
  }
  uint32_t OfRun(const BlockRun& run);

 private:
  struct Key {
    const void* section = nullptr;  // or the address space
    uint64_t place = 0;             // in the section, or the address
    uint64_t way = 0;               // 0, 1: the direction; of an indirect jump the target's place
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  // The known kind of a step: one of these, or its edge's number plus kFirstEdge.
  static constexpr uint32_t kNotAsked = 0;
  static constexpr uint32_t kNoBranch = 1;
  static constexpr uint32_t kIndirect = 2;
  static constexpr uint32_t kFirstEdge = 3;
  struct PerTable {
    std::vector<uint32_t> steps;
  };

  // Indirect jumps go to the same few targets again and again.
  struct Jump {
    const BlockTable* table = nullptr;
    uint32_t step = 0;
    uint32_t edge = kNoEdge;
    uint64_t next = 0;
  };
  static constexpr size_t kJumps = 1024;

  uint32_t AskStep(const BlockTable& table, BlockStep step, uint64_t next);
  uint32_t OfJump(const BlockTable& table, BlockStep step, uint64_t next);
  uint32_t Find(const BranchWay& edge);
  static Key PlaceOf(const AddressSpace* space, uint64_t address);

  std::vector<BranchWay> edges_;
  std::unordered_map<Key, uint32_t, Hash> numbers_;
  std::unordered_map<const BlockTable*, PerTable> tables_;
  std::vector<Jump> jumps_ = std::vector<Jump>(kJumps);
  const BlockTable* last_table_ = nullptr;
  PerTable* last_ = nullptr;
};

// How often the open instance took each edge.
class BranchCounts {
 public:
  void Add(uint32_t edge, uint64_t times = 1) {
    if (edge >= counts_.size()) counts_.resize(edge + size_t{1});
    if (counts_[edge] == 0) touched_.push_back(edge);
    counts_[edge] += times;
  }
  const std::vector<uint32_t>& touched() const { return touched_; }  // in the order of first use
  uint64_t operator[](uint32_t edge) const { return counts_[edge]; }
  void Clear() {
    for (const uint32_t edge : touched_) counts_[edge] = 0;
    touched_.clear();
  }

 private:
  std::vector<uint64_t> counts_;
  std::vector<uint32_t> touched_;
};

}  // namespace flowback
