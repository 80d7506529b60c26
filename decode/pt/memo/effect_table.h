// SPDX-License-Identifier: MIT
// What paths do to the return stack: their effects. Most paths have one of a few effects, so each
// effect is kept once, and a path has only its number.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/zeroed_pool.h"
#include "decode/pt/memo/return_stack.h"

namespace flowback::pt {

class EffectTable {
 public:
  // 0: nothing.
  using Number = uint16_t;

  EffectTable() { effects_[0] = {}; }
  // Forgets all effects; their numbers mean nothing from then on.
  void Clear();
  // There is no room for another effect.
  bool full() const { return count_ == kMost; }
  const ReturnStack::Effect& operator[](Number number) const { return effects_[number]; }
  // REQUIRES: effect.deep().
  const ReturnStack::DeepEffect& Deep(const ReturnStack::Effect& effect) const {
    return deep_[effect.popped[0]];
  }
  // The number of an effect, new or not. REQUIRES: !full().
  Number Keep(const ReturnStack::Effect& effect);
  // Keeps an effect that takes or leaves more calls than an Effect has room for: `deep` has them.
  Number Keep(ReturnStack::Effect effect, const ReturnStack::DeepEffect& deep);

 private:
  static constexpr size_t kMost = size_t{1} << 16;
  static constexpr unsigned kSlotBits = 17;
  static constexpr size_t kSlots = size_t{1} << kSlotBits;

  struct Slot {
    Number number = 0;  // 0: free
    uint16_t tag = 0;   // more of the hash
  };
  static uint16_t TagOf(uint64_t hash) { return static_cast<uint16_t>(hash >> 24); }
  template <class IsIt>
  Slot& Find(uint64_t hash, const IsIt& is_it);
  Number Add(const ReturnStack::Effect& effect);

  ZeroedPool pool_{ZeroedPool::SizeOf<ReturnStack::Effect>(kMost) +
                   ZeroedPool::SizeOf<ReturnStack::DeepEffect>(kMost) +
                   ZeroedPool::SizeOf<Slot>(kSlots)};
  ReturnStack::Effect* const effects_ = pool_.Take<ReturnStack::Effect>(kMost);
  ReturnStack::DeepEffect* const deep_ = pool_.Take<ReturnStack::DeepEffect>(kMost);
  Slot* const slots_ = pool_.Take<Slot>(kSlots);  // by hash
  size_t count_ = 1;                              // the first one is nothing
  uint32_t deep_count_ = 0;
};

}  // namespace flowback::pt
