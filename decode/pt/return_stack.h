// SPDX-License-Identifier: MIT
// The decoder's copy of the processor's call stack for return compression.
// [SDM "Indirect Transfer Compression for Returns (RET)"]
#pragma once

#include <algorithm>
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
    uint64_t address = 0;  // only where there is no node
    uint32_t call = 0;     // graph node of the call; 0 when the graph has changed since
  };

  // What a stretch of code does to the stack: takes calls that were there, then leaves its own.
  static constexpr unsigned kMaxPops = 2;
  static constexpr unsigned kMaxPushes = 2;
  struct Effect {
    std::array<uint32_t, kMaxPops> popped{};  // the newest first
    std::array<uint32_t, kMaxPushes> pushed{};
    std::array<int8_t, kMaxPops> must_match{};  // -1: `popped` must be that call; 0: any will do
    uint8_t needs = 0;                          // calls that must be there
    uint8_t pops = 0;                           // that many, or all if there are fewer
    uint8_t pushes = 0;
    // So many of the calls that were there can be left at most: calls of its own make the oldest
    // fall out, which later returns do not bring back.
    uint8_t room = kDepth;

    // One more of the calls that were there returns.
    void CountPop() {
      ++pops;
      --room;
    }
    bool Nothing() const { return pops == 0 && room == kDepth; }
  };

  bool empty() const { return size_ == 0; }
  unsigned size() const { return size_; }
  void Clear() { size_ = 0; }
  void Push(uint32_t call) {
    ++top_;
    calls_[top_ % kRing] = call;
    if (size_ < kDepth) ++size_;
  }
  // REQUIRES: !empty().
  Entry Pop() {
    const Entry entry{addresses_[top_ % kRing], calls_[top_ % kRing]};
    --top_;
    --size_;
    return entry;
  }
  void PopIfAny() {
    if (!empty()) Pop();
  }
  // The call behind `newer` newer ones; 0 when it has no node, and, perhaps, when there is none.
  uint32_t CallAt(unsigned newer) const { return calls_[(top_ - newer) % kRing]; }
  // Whether the stack holds the calls that are taken.
  [[gnu::always_inline]] bool Allows(const Effect& effect) const {
    uint32_t wrong = 0;
    for (unsigned i = 0; i < kMaxPops; ++i)
      wrong |= (CallAt(i) ^ effect.popped[i]) & static_cast<uint32_t>(effect.must_match[i]);
    return ((wrong != 0) | (effect.needs > size_)) == 0;
  }
  // False, and nothing is done, when it does not. No branches but that one.
  [[gnu::always_inline]] bool Apply(const Effect& effect) {
    if (!Allows(effect)) [[unlikely]]
      return false;
    const unsigned top = top_ - effect.pops;
    for (unsigned i = 0; i < kMaxPushes; ++i) calls_[(top + 1 + i) % kRing] = effect.pushed[i];
    top_ = top + effect.pushes;
    const unsigned left = size_ - std::min<unsigned>(size_, effect.pops);
    size_ = std::min<unsigned>(left, effect.room) + effect.pushes;
    return true;
  }
  // Node numbers of another graph mean nothing: keeps the addresses behind the calls instead.
  template <class AddressBehind>
  void ForgetNodes(AddressBehind address_behind) {
    for (unsigned i = 0; i < size_; ++i) {
      uint32_t& call = calls_[(top_ - i) % kRing];
      if (call != 0) addresses_[(top_ - i) % kRing] = address_behind(call);
      call = 0;
    }
  }

 private:
  static constexpr unsigned kRing = 128;  // so that what is written ahead touches no entry
  static_assert(kDepth + kMaxPushes <= kRing);

  std::array<uint32_t, kRing> calls_{};
  std::array<uint64_t, kRing> addresses_{};
  unsigned top_ = 0;  // modulo kRing
  unsigned size_ = 0;
};

}  // namespace flowback::pt
