// SPDX-License-Identifier: MIT
#include "decode/pt/memo/path_walk.h"

#include <algorithm>

namespace flowback::pt {

// Returns kFits if an Answer and PathCounts have room for the path.
PathWalk::Result PathWalk::Fits(const Course& at) const {
  constexpr uint8_t kMost = 255;
  const bool fits = at.digest.count <= Answer::kMostInstructions && at.counts.jumps < kMost &&
                    at.counts.calls < kMost;
  return fits ? Result::kPath : Result::kNever;
}

template <bool kLists>
[[gnu::always_inline]] inline void PathWalk::Pass(Course& at, const Node& node, bool taken) {
  at.digest.hash = at.digest.hash * node.power + node.hash;
  at.digest.count += node.count;
  if constexpr (kLists) {
    if (at.blocks < BlockLists::kMost) steps_[at.blocks] = BlockStep::Of(at.node, taken);
    ++at.blocks;
  }
}

[[gnu::always_inline]] inline bool PathWalk::Push(Course& at) {
  if (!compressed_returns_) return true;
  if (at.depth == own_.size()) return false;
  own_[at.depth++] = at.node;
  at.deepest = std::max(at.deepest, at.depth);
  return true;
}

// Passes a block that needs no packet.
template <bool kLists>
[[gnu::always_inline]] inline PathWalk::Result PathWalk::StepOver(Course& at) {
  if (!graph_.node(at.node).terminates && !graph_.Terminates(at.node)) return Result::kNever;
  const Node& node = graph_.node(at.node);
  if (node.kind == NodeKind::kCall && node.pushes && !Push(at)) return Result::kNever;
  at.counts.calls += node.last == InstructionClass::kCall;
  at.counts.jumps += node.last == InstructionClass::kJump;
  Pass<kLists>(at, node, IsDirect(node.last));
  at.node = graph_.Successor(at.node, 1);
  return Fits(at);
}

// The caller's call that the next return takes; 0: none is known.
uint32_t PathWalk::PopCaller() {
  const uint32_t call = effect_.pops < returns_.size() ? returns_.CallAt(effect_.pops) : 0;
  if (call == 0) return 0;
  popped_[effect_.pops++] = call;
  effect_.needs = effect_.pops;
  return call;
}

// Where a return with a taken outcome leads.
template <bool kLists>
[[gnu::always_inline]] inline PathWalk::Result PathWalk::Return(Course& at) {
  uint32_t call;
  if (at.depth != 0) {
    call = own_[--at.depth];
  } else {
    if (Fits(at) == Result::kNever || effect_.pops == popped_.size()) return Result::kNever;
    call = PopCaller();
    if (call == 0) return Result::kNotNow;
    ++at.deepest;
  }
  --at.left;
  ++at.counts.returns;
  Pass<kLists>(at, graph_.node(at.node), true);
  at.node = graph_.Successor(call, 0);
  return Result::kPath;
}

// One block further.
template <bool kLists>
[[gnu::always_inline]] inline PathWalk::Result PathWalk::Advance(Course& at) {
  const Node& node = graph_.node(at.node);
  const bool outcome = (at.outcomes >> (at.left - 1) & 1) != 0;
  if (node.kind == NodeKind::kConditional) {
    --at.left;
    at.counts.taken += outcome;
    at.counts.not_taken += !outcome;
    Pass<kLists>(at, node, outcome);
    at.node = graph_.Successor(at.node, outcome ? 1 : 0);
    return Result::kPath;
  }
  if (node.kind == NodeKind::kReturn)
    return compressed_returns_ && outcome ? Return<kLists>(at) : Result::kNever;
  return NeedsNoPacket(node.kind) ? StepOver<kLists>(at) : Result::kNever;
}

// As far as the TIP leads.
template <bool kLists>
PathWalk::Result PathWalk::FollowTip(Course& at, uint64_t ip) {
  while (NeedsNoPacket(graph_.node(at.node).kind))
    if (StepOver<kLists>(at) == Result::kNever) return Result::kNever;
  const Node& node = graph_.node(at.node);
  switch (node.kind) {
    case NodeKind::kReturn:
      if (!compressed_returns_) break;
      if (at.depth != 0) {
        --at.depth;
      } else {
        popped_[effect_.pops++] = 0;
        any_newest_ = true;
        ++at.deepest;
      }
      break;
    case NodeKind::kIndirectCall:
      if (!Push(at)) return Result::kNever;
      break;
    case NodeKind::kIndirect:
    case NodeKind::kFar:
      break;
    default:
      return Result::kNever;
  }
  at.counts.branch = node.last;
  Pass<kLists>(at, node, true);
  at.node = graph_.NodeAt(ip);
  // A list goes on where a block leads; a target beyond the mode's addresses says more.
  if (kLists && graph_.info(at.node).address != ip) return Result::kNever;
  return Fits(at);
}

template <bool kLists>
PathWalk::Result PathWalk::Walk(bool tip, uint64_t ip) {
  Course at = course_;  // stays in registers
  Result result = Result::kPath;
  if (tip) result = FollowTip<kLists>(at, ip);
  while (at.left > 0 && result == Result::kPath) result = Advance<kLists>(at);
  if (result == Result::kPath) result = Fits(at);
  course_ = at;
  effect_.pushes = static_cast<uint8_t>(at.depth);
  effect_.room = static_cast<uint8_t>(ReturnStack::kDepth - at.deepest);
  return result;
}

template <class Packets>
PathWalk::Result PathWalk::Take(Packets packets) {
  course_.outcomes = packets.outcomes();
  course_.left = OutcomeCount(course_.outcomes);
  course_.counts.packets = static_cast<uint8_t>(packets.count());
  return steps_ != nullptr ? Walk<true>(packets.tip(), packets.ip())
                           : Walk<false>(packets.tip(), packets.ip());
}

template PathWalk::Result PathWalk::Take(TipTnt packets);
template PathWalk::Result PathWalk::Take(TntPair packets);

EffectTable::Number PathWalk::KeepEffect(EffectTable& table) const {
  ReturnStack::Effect effect = effect_;
  if (effect.pops > ReturnStack::kMaxPops || effect.pushes > ReturnStack::kMaxPushes)
    return table.Keep(
        effect,
        {.popped = popped_, .pushed = own_, .needs = effect.needs, .any_newest = any_newest_});
  std::copy_n(popped_.begin(), effect.pops, effect.popped.rbegin());
  std::fill_n(effect.must_match.rbegin(), effect.pops, ReturnStack::Effect::kMustMatch);
  if (any_newest_) effect.must_match.back() = 0;
  std::copy_n(own_.begin(), effect.pushes, effect.pushed.begin());
  return table.Keep(effect);
}

}  // namespace flowback::pt
