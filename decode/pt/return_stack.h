// SPDX-License-Identifier: MIT
// The decoder's copy of the processor's call stack for return compression.
// [SDM "Indirect Transfer Compression for Returns (RET)"]
#pragma once

#include <array>
#include <cstdint>

namespace flowback::pt {

// 64 deep; the oldest entry falls out. Every near return pops, compressed or not: that is right for
// processors that pop one entry at a mismatch, and for those that empty their stack, because a
// return is compressed only when the processor's top entry matches, and then it is ours too.
class ReturnStack {
 public:
  static constexpr unsigned kDepth = 64;
  struct Entry {
    uint64_t address = 0;
    uint32_t call = 0;  // graph node of the call; 0 when the graph has changed since
  };

  bool empty() const { return size_ == 0; }
  void Clear() { size_ = 0; }
  void Push(uint64_t address, uint32_t call) {
    top_ = (top_ + 1) % kDepth;
    entries_[top_] = {address, call};
    if (size_ < kDepth) ++size_;
  }
  // REQUIRES: !empty().
  Entry Pop() {
    const Entry entry = entries_[top_];
    top_ = (top_ + kDepth - 1) % kDepth;
    --size_;
    return entry;
  }
  void PopIfAny() {
    if (!empty()) Pop();
  }
  // Node numbers of another graph mean nothing.
  void ForgetNodes() {
    for (Entry& entry : entries_) entry.call = 0;
  }

 private:
  std::array<Entry, kDepth> entries_{};
  unsigned top_ = 0;
  unsigned size_ = 0;
};

}  // namespace flowback::pt
