// SPDX-License-Identifier: MIT
#include "decode/pt/memo/effect_table.h"

#include <algorithm>
#include <bit>
#include <span>

#include "flowback/base/flow_digest.h"

namespace flowback::pt {
namespace {

using Effect = ReturnStack::Effect;
using DeepEffect = ReturnStack::DeepEffect;

// All of an effect but its calls.
uint64_t FormOf(const Effect& effect) {
  return uint64_t{effect.needs} | uint64_t{effect.pops} << 8 | uint64_t{effect.pushes} << 16 |
         uint64_t{effect.room} << 24 | uint64_t{effect.must_match[0] & 1} << 32 |
         uint64_t{effect.must_match[1] & 1} << 33;
}

bool Same(const Effect& a, const Effect& b) {
  return FormOf(a) == FormOf(b) &&
         std::bit_cast<uint64_t>(a.popped) == std::bit_cast<uint64_t>(b.popped) &&
         std::bit_cast<uint64_t>(a.pushed) == std::bit_cast<uint64_t>(b.pushed);
}

bool SameCalls(const Effect& effect, const DeepEffect& a, const DeepEffect& b) {
  return a.needs == b.needs && a.any_newest == b.any_newest &&
         std::equal(a.popped.begin(), a.popped.begin() + effect.pops, b.popped.begin()) &&
         std::equal(a.pushed.begin(), a.pushed.begin() + effect.pushes, b.pushed.begin());
}

uint64_t HashOf(uint64_t form, std::span<const uint32_t> popped, std::span<const uint32_t> pushed) {
  uint64_t hash = form * FlowDigest::kFactor;
  for (const auto calls : {popped, pushed})
    for (const uint32_t call : calls) hash = (hash + call + 1) * FlowDigest::kFactor;
  return hash;
}

}  // namespace

void EffectTable::Clear() {
  std::fill_n(slots_, kSlots, Slot{});
  count_ = 1;
  deep_count_ = 0;
}

// Returns the slot of the effect with that hash that `is_it` accepts; a free slot if it accepts
// none.
template <class IsIt>
EffectTable::Slot& EffectTable::Find(uint64_t hash, const IsIt& is_it) {
  for (size_t at = hash >> (64 - kSlotBits);; at = (at + 1) % kSlots) {
    Slot& slot = slots_[at];
    if (slot.number == 0) slot.tag = TagOf(hash);
    if (slot.number == 0 || (slot.tag == TagOf(hash) && is_it(effects_[slot.number]))) return slot;
  }
}

EffectTable::Number EffectTable::Add(const Effect& effect) {
  effects_[count_] = effect;
  return static_cast<Number>(count_++);
}

EffectTable::Number EffectTable::Keep(const Effect& effect) {
  if (effect.Nothing() && effect.pushes == 0) return 0;
  const uint64_t hash = HashOf(FormOf(effect), effect.popped, effect.pushed);
  Slot& slot = Find(hash, [&](const Effect& other) { return Same(effect, other); });
  if (slot.number == 0) slot.number = Add(effect);
  return slot.number;
}

EffectTable::Number EffectTable::Keep(Effect effect, const DeepEffect& deep) {
  effect.needs = Effect::kDeep;
  const std::span popped(deep.popped.data(), effect.pops);
  const std::span pushed(deep.pushed.data(), effect.pushes);
  const uint64_t form = FormOf(effect);
  const uint64_t hash = HashOf(form, popped, pushed);
  Slot& slot = Find(hash, [&](const Effect& other) {
    return FormOf(other) == form && SameCalls(effect, Deep(other), deep);
  });
  if (slot.number == 0) {
    effect.popped[0] = deep_count_;
    deep_[deep_count_++] = deep;
    slot.number = Add(effect);
  }
  return slot.number;
}

}  // namespace flowback::pt
