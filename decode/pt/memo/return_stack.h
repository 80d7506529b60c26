// SPDX-License-Identifier: MIT
// The decoder's copy of the processor's call stack for return compression.
// [SDM "Indirect Transfer Compression for Returns (RET)"]
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace flowback::pt {

// 64 deep; the oldest entry falls out. Every near return pops, compressed or not: that is right for
// processors that pop one entry at a mismatch, and for those that empty their stack, because a
// return is compressed only when the processor's top entry matches, and then it is ours too.
//
// The entries lie one behind the other, the newest last, in the middle of a longer array; they are
// moved back there when they have come near one of its ends.
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
  struct alignas(32) Effect {
    static constexpr uint32_t kMustMatch = 0xffffffff;
    static constexpr uint8_t kDeep = 0xff;

    std::array<uint32_t, kMaxPops> popped{};      // the newest last
    std::array<uint32_t, kMaxPops> must_match{};  // which of them must be there; 0: any may be
    std::array<uint32_t, kMaxPushes> pushed{};    // the newest last
    // Calls that must be there. kDeep: there are more calls than have room here; they are in a
    // DeepEffect, whose number is popped[0].
    uint8_t needs = 0;
    uint8_t pops = 0;  // that many, or all if there are fewer
    uint8_t pushes = 0;
    // The largest number of earlier calls that can be left: the path's own calls make the oldest
    // ones fall out, and later returns do not bring them back.
    uint8_t room = kDepth;

    // One more of the calls that were there returns.
    void CountPop() {
      ++pops;
      --room;
    }
    bool Nothing() const { return pops == 0 && room == kDepth; }
    bool deep() const { return needs == kDeep; }
  };
  // The calls of an effect that takes or leaves many.
  static constexpr unsigned kMaxDeep = 14;
  struct DeepEffect {
    std::array<uint32_t, kMaxDeep> popped{};  // the newest first
    std::array<uint32_t, kMaxDeep> pushed{};  // the newest last
    uint8_t needs = 0;
    bool any_newest = false;  // the newest of `popped` need not match
  };

  bool empty() const { return size_ == 0; }
  unsigned size() const { return size_; }
  void Clear() { size_ = 0; }
  void Push(uint32_t call) {
    calls_[++top_] = call;
    if (size_ < kDepth) ++size_;
    StayInside();
  }
  // Pushes a call whose return address alone is known.
  void PushAddress(uint64_t address) {
    Push(0);
    addresses_[top_] = address;
  }
  // Returns the address that was pushed so, or kept by ForgetNodes, below `newer` newer ones.
  uint64_t AddressAt(unsigned newer) const { return addresses_[top_ - newer]; }
  // REQUIRES: !empty().
  Entry Pop() {
    const Entry entry{addresses_[top_], calls_[top_]};
    --top_;
    --size_;
    StayInside();
    return entry;
  }
  void PopIfAny() {
    if (!empty()) Pop();
  }
  // Returns the call behind `newer` newer ones, at most kMaxDeep. Returns 0 if the call has no
  // node. If the stack has no such call, the result may be 0.
  uint32_t CallAt(unsigned newer) const { return calls_[top_ - newer]; }
  // Whether the stack holds the calls that are taken. REQUIRES of these two: not deep; but then
  // both say no.
  [[gnu::always_inline]] bool Allows(const Effect& effect) const {
    const uint64_t wrong =
        (Two(&calls_[top_ - 1]) ^ Two(effect.popped.data())) & Two(effect.must_match.data());
    return wrong == 0 && effect.needs <= size_;
  }
  // False, and nothing is done, when it does not.
  [[gnu::always_inline]] bool Apply(const Effect& effect) {
    if (!Allows(effect)) [[unlikely]]
      return false;
    std::memcpy(&calls_[top_ - effect.pops + 1], effect.pushed.data(), sizeof effect.pushed);
    Resize(effect);
    return true;
  }
  // The same with many calls.
  bool Allows(const Effect& effect, const DeepEffect& deep) const {
    if (deep.needs > size_) return false;
    for (unsigned i = deep.any_newest ? 1 : 0; i < effect.pops; ++i)
      if (CallAt(i) != deep.popped[i]) return false;
    return true;
  }
  bool Apply(const Effect& effect, const DeepEffect& deep) {
    if (!Allows(effect, deep)) return false;
    std::copy_n(deep.pushed.begin(), effect.pushes, &calls_[top_ - effect.pops + 1]);
    Resize(effect);
    return true;
  }
  // Node numbers of another graph mean nothing: keeps the addresses behind the calls instead.
  template <class AddressBehind>
  void ForgetNodes(AddressBehind address_behind) {
    for (unsigned i = 0; i < size_; ++i) {
      uint32_t& call = calls_[top_ - i];
      if (call != 0) addresses_[top_ - i] = address_behind(call);
      call = 0;
    }
  }

 private:
  static constexpr unsigned kFirst = kDepth + 2 * kMaxDeep;  // where the newest may stand
  static constexpr unsigned kLast = 4 * kFirst;
  static constexpr unsigned kMiddle = (kFirst + kLast) / 2;

  static uint64_t Two(const uint32_t* at) {
    uint64_t two;
    std::memcpy(&two, at, sizeof two);
    return two;
  }
  [[gnu::always_inline]] void Resize(const Effect& effect) {
    top_ += effect.pushes - unsigned{effect.pops};
    const int left = std::max(static_cast<int>(size_) - effect.pops, 0);
    size_ = static_cast<unsigned>(std::min<int>(left, effect.room) + effect.pushes);
    StayInside();
  }
  [[gnu::always_inline]] void StayInside() {
    if (top_ - kFirst > kLast - kFirst) [[unlikely]]
      MoveToMiddle();
  }
  [[gnu::noinline]] void MoveToMiddle() {
    const unsigned from = top_ + 1 - size_;
    const unsigned to = kMiddle + 1 - size_;
    std::memmove(&calls_[to], &calls_[from], size_ * sizeof calls_[0]);
    std::memmove(&addresses_[to], &addresses_[from], size_ * sizeof addresses_[0]);
    top_ = kMiddle;
  }

  std::array<uint32_t, kLast + kMaxDeep + kMaxPushes> calls_{};
  std::array<uint64_t, kLast + kMaxDeep + kMaxPushes> addresses_{};
  unsigned top_ = kMiddle;  // the newest
  unsigned size_ = 0;
};

}  // namespace flowback::pt
