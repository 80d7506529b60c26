// SPDX-License-Identifier: MIT
// What a cursor has at hand of a thread's flow: the last few segments, and one item in block runs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "flowback/model/flow_segment.h"
#include "flowback/replay/flow_index.h"

namespace flowback {

// The block runs of one item of a segment, to be gone through in both directions.
class ItemRuns {
 public:
  void Fill(const FlowSegment& segment, size_t item) {
    runs_.clear();
    firsts_.clear();
    if (segment[item].kind == FlowSegment::Kind::kBlock) {
      Add(segment.Run(item), 0);
      return;
    }
    const BlockBatch batch = segment.Batch(item);
    uint64_t first = 0;
    for (BlockRuns runs(batch); runs.Next(); first += runs_.back().lengths.size())
      Add(runs.run(), first);
  }
  // Returns the index of the item's instruction `number`, from 0.
  size_t Find(uint64_t number) const {
    return static_cast<size_t>(std::ranges::upper_bound(firsts_, number) - firsts_.begin()) - 1;
  }
  size_t size() const { return runs_.size(); }
  const BlockRun& operator[](size_t run) const { return runs_[run]; }
  // Instructions of the item before the run.
  uint64_t first(size_t run) const { return firsts_[run]; }

 private:
  void Add(const BlockRun& run, uint64_t first) {
    runs_.push_back(run);
    firsts_.push_back(first);
  }

  std::vector<BlockRun> runs_;
  std::vector<uint64_t> firsts_;
};

// Segments used last: going to and fro over a border decodes nothing anew.
class SegmentCache {
 public:
  SegmentCache(FlowIndex& index, const IndexedThread& thread) : index_(index), thread_(thread) {}

  // Valid until another kSegments have been asked for.
  const FlowSegment& At(size_t share) {
    for (Kept& kept : kept_) {
      if (kept.share != share) continue;
      kept.used = ++clock_;
      return kept.segment;
    }
    Kept& oldest = *std::ranges::min_element(kept_, {}, &Kept::used);
    oldest.share = share;
    oldest.used = ++clock_;
    index_.Load(thread_.shares[share], oldest.segment);
    return oldest.segment;
  }

 private:
  static constexpr size_t kSegments = 4;
  struct Kept {
    size_t share = SIZE_MAX;
    uint64_t used = 0;
    FlowSegment segment;
  };

  FlowIndex& index_;
  const IndexedThread& thread_;
  std::array<Kept, kSegments> kept_;
  uint64_t clock_ = 0;
};

}  // namespace flowback
