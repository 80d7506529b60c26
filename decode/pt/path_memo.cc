// SPDX-License-Identifier: MIT
#include "decode/pt/path_memo.h"

#include <algorithm>
#include <utility>

#include "flowback/model/execution.h"

namespace flowback::pt {

constinit const std::array<uint64_t, PathMemo::kEffect> PathMemo::kPowers = [] {
  std::array<uint64_t, kEffect> powers{1};
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * FlowDigest::kFactor;
  return powers;
}();

struct PathMemo::Walk {
  Walk(uint32_t begin, Outcomes all, const ReturnStack& stack, BlockStep* list)
      : node(begin), outcomes(all), left(OutcomeCount(all)), returns(stack), steps(list) {}

  uint32_t node;
  const Outcomes outcomes;
  unsigned left;  // outcomes
  const ReturnStack& returns;
  FlowDigest digest;
  // What it does to the stack. Its own calls that have not returned:
  std::array<uint32_t, ReturnStack::kMaxDeep> own;
  unsigned depth = 0;  // of them
  // The calls it takes, and of which only the first may be any: a TIP's return.
  std::array<uint32_t, ReturnStack::kMaxDeep> popped;
  bool any_newest = false;
  ReturnStack::Effect effect;  // but its calls
  Counts counts;
  BlockStep* const steps;  // the first BlockLists::kMost; null: they are not wanted
  unsigned blocks = 0;

  bool NextOutcome() { return (outcomes >> --left & 1) != 0; }
  void Pass(const Node& n, bool taken) {
    digest.hash = digest.hash * n.power + n.hash;
    digest.count += n.count;
    if (steps != nullptr) List(node, taken);
  }
  void List(uint32_t block, bool taken) {
    if (blocks < BlockLists::kMost) steps[blocks] = BlockStep::Of(block, taken);
    ++blocks;
  }
  Step Fits() const {
    constexpr uint8_t kMost = 255;
    return digest.count < kEffect && counts.jumps < kMost && counts.calls < kMost ? Step::kOn
                                                                                  : Step::kNever;
  }
  Length length() const { return digest.count | (effect.Nothing() ? 0 : kEffect); }
  // All outcomes are used up.
  Step Finish() {
    effect.pushes = static_cast<uint8_t>(depth);
    return Step::kOn;
  }
};

bool PathMemo::Push(Walk& walk) {
  if (!compressed_returns_) return true;
  if (walk.depth == walk.own.size()) return false;
  walk.own[walk.depth++] = walk.node;
  walk.effect.room =
      std::min(walk.effect.room, static_cast<uint8_t>(ReturnStack::kDepth - walk.depth));
  return true;
}

// Passes a block that needs no packet.
PathMemo::Step PathMemo::StepOver(Walk& walk, const Node& node) {
  if (!graph_.Terminates(walk.node)) return Step::kNever;
  if (node.kind == NodeKind::kCall && node.pushes && !Push(walk)) return Step::kNever;
  walk.counts.calls += node.last == InstructionClass::kCall;
  walk.counts.jumps += node.last == InstructionClass::kJump;
  walk.Pass(node, IsDirect(node.last));
  walk.node = graph_.Successor(walk.node, 1);
  return walk.Fits();
}

// Where a return with a taken outcome leads.
PathMemo::Step PathMemo::Return(Walk& walk) {
  ReturnStack::Effect& effect = walk.effect;
  uint32_t call = 0;
  if (walk.depth != 0) {
    call = walk.own[--walk.depth];
  } else {
    if (effect.pops == walk.popped.size()) return Step::kNever;
    call = effect.pops < walk.returns.size() ? walk.returns.CallAt(effect.pops) : 0;
    if (call == 0) return Step::kNotNow;
    walk.popped[effect.pops] = call;
    effect.CountPop();
    effect.needs = effect.pops;
  }
  ++walk.counts.returns;
  walk.Pass(graph_.node(walk.node), true);
  walk.node = graph_.Successor(call, 0);
  return walk.Fits();
}

// One block further.
PathMemo::Step PathMemo::Advance(Walk& walk) {
  const Node node = graph_.node(walk.node);
  switch (node.kind) {
    case NodeKind::kConditional: {
      const bool taken = walk.NextOutcome();
      ++(taken ? walk.counts.taken : walk.counts.not_taken);
      walk.Pass(node, taken);
      walk.node = graph_.Successor(walk.node, taken ? 1 : 0);
      return walk.Fits();
    }
    case NodeKind::kReturn:
      return compressed_returns_ && walk.NextOutcome() ? Return(walk) : Step::kNever;
    case NodeKind::kGoto:
    case NodeKind::kCall:
    case NodeKind::kSpecial:
      return StepOver(walk, node);
    default:
      return Step::kNever;
  }
}

// Goes on along blocks as most are, on copies that stay in registers; stops where there is more to
// do, or nothing.
template <bool kLists>
void PathMemo::FollowUsual(Walk& walk) {
  constexpr unsigned kMostJumps = 200;
  uint32_t at = walk.node;
  unsigned left = walk.left;
  unsigned depth = walk.depth;
  unsigned deepest = ReturnStack::kDepth - walk.effect.room;
  FlowDigest digest = walk.digest;
  Counts counts = walk.counts;
  while (left > 0) {
    const Node& node = graph_.node(at);
    uint32_t next = 0;
    bool taken = true;
    if (node.kind == NodeKind::kConditional) {
      taken = (walk.outcomes >> (left - 1) & 1) != 0;
      next = node.next[taken ? 1 : 0];
      if (next == 0) break;
      --left;
      counts.taken += taken;
      counts.not_taken += !taken;
    } else if (node.kind == NodeKind::kReturn) {
      if (depth == 0 || !compressed_returns_ || (walk.outcomes >> (left - 1) & 1) == 0) break;
      next = graph_.node(walk.own[depth - 1]).next[0];
      if (next == 0) break;
      --left;
      --depth;
      ++counts.returns;
    } else if (node.kind == NodeKind::kGoto || node.kind == NodeKind::kCall) {
      next = node.next[1];
      if (next == 0 || !node.terminates || counts.jumps + counts.calls > kMostJumps) break;
      if (node.kind == NodeKind::kCall && node.pushes && compressed_returns_) {
        if (depth == walk.own.size()) break;
        walk.own[depth++] = at;
        deepest = std::max(deepest, depth);
      }
      taken = IsDirect(node.last);
      counts.calls += node.last == InstructionClass::kCall;
      counts.jumps += node.last == InstructionClass::kJump;
    } else {
      break;
    }
    digest.hash = digest.hash * node.power + node.hash;
    digest.count += node.count;
    if constexpr (kLists) walk.List(at, taken);
    at = next;
  }
  walk.node = at;
  walk.left = left;
  walk.depth = depth;
  walk.effect.room = static_cast<uint8_t>(ReturnStack::kDepth - deepest);
  walk.digest = digest;
  walk.counts = counts;
}

PathMemo::Step PathMemo::Follow(Walk& walk) {
  for (;;) {
    if (lists_)
      FollowUsual<true>(walk);
    else
      FollowUsual<false>(walk);
    if (const Step step = walk.Fits(); step != Step::kOn) return step;
    if (walk.left == 0) return walk.Finish();
    if (const Step step = Advance(walk); step != Step::kOn) return step;
  }
}

// As far as the TIP leads.
PathMemo::Step PathMemo::FollowTip(Walk& walk, uint64_t ip) {
  for (;;) {
    const Node node = graph_.node(walk.node);
    switch (node.kind) {
      case NodeKind::kGoto:
      case NodeKind::kCall:
      case NodeKind::kSpecial:
        if (const Step step = StepOver(walk, node); step != Step::kOn) return step;
        continue;
      case NodeKind::kReturn:
        if (!compressed_returns_) break;
        if (walk.depth != 0) {
          --walk.depth;
        } else {
          walk.popped[0] = 0;
          walk.any_newest = true;
          walk.effect.CountPop();
        }
        break;
      case NodeKind::kIndirectCall:
        if (!Push(walk)) return Step::kNever;
        break;
      case NodeKind::kIndirect:
      case NodeKind::kFar:
        break;
      default:
        return Step::kNever;
    }
    walk.counts.branch = node.last;
    walk.Pass(node, true);
    walk.node = graph_.NodeAt(ip);
    // A list goes on where a block leads; a target beyond the mode's addresses says more.
    if (lists_ && graph_.info(walk.node).address != ip) return Step::kNever;
    return walk.Fits();
  }
}

// The path gives its place to another one.
template <class Any>
void PathMemo::Evict(Any& path, PathUses& evicted) {
  if (content_ == MemoContent::kBlocks) return lists_->Free(path.blocks);
  Count(path, evicted);
  if (CountsBlocks()) lists_->Free(std::exchange(CountedList(path), 0));
}

// The blocks of what was walked, if it is a path and they are wanted; else 0.
BlockLists::Ref PathMemo::ListOf(const Walk& walk, Length length) {
  if (!lists_ || !HasPath(length)) return 0;
  return lists_->Keep({walk.steps, walk.blocks});
}

template <class Any>
void PathMemo::KeepList(Any& path, const Walk& walk, Length length) {
  if (content_ == MemoContent::kBlocks) path.blocks = ListOf(walk, length);
  if (CountsBlocks()) CountedList(path) = ListOf(walk, length);
}

// With its calls.
EffectTable::Number PathMemo::EffectOf(const Walk& walk) {
  ReturnStack::Effect effect = walk.effect;
  if (effect.pops > ReturnStack::kMaxPops || effect.pushes > ReturnStack::kMaxPushes)
    return effects_.Keep(effect, {.popped = walk.popped,
                                  .pushed = walk.own,
                                  .needs = effect.needs,
                                  .any_newest = walk.any_newest});
  std::copy_n(walk.popped.begin(), effect.pops, effect.popped.rbegin());
  std::fill_n(effect.must_match.rbegin(), effect.pops, ReturnStack::Effect::kMustMatch);
  if (walk.any_newest) effect.must_match.back() = 0;
  std::copy_n(walk.own.begin(), effect.pushes, effect.pushed.begin());
  return effects_.Keep(effect);
}

bool PathMemo::ApplyDeep(const ReturnStack::Effect& effect, ReturnStack& returns) const {
  return returns.Apply(effect, effects_.Deep(effect));
}

PathMemo::Path* PathMemo::Keep(Mixed mixed, Packets packets, uint64_t key, Length length,
                               const Walk& walk, PathUses& evicted) {
  OnKeep();
  Path& path = At(mixed);
  Evict(path, evicted);
  path = {.word = packets.word(),
          .key = key ^ length << kNumberBits,
          .hash = walk.digest.hash,
          .next = SeedOf(walk.node),
          .uses = 0};
  KeepList(path, walk, length);
  if (HasPath(length)) path.key |= EffectOf(walk);
  if (content_ != MemoContent::kBlocks) counts_[paths_.IndexOf(path)] = walk.counts;
  return &path;
}

PathMemo::Pair* PathMemo::KeepPair(Mixed mixed, uint64_t key, Length length, const Walk& walk,
                                   PathUses& evicted) {
  OnKeep();
  Pair& pair = PairAt(mixed);
  Evict(pair, evicted);
  pair = {.key = key ^ length, .hash = walk.digest.hash, .next = SeedOf(walk.node), .uses = 0};
  KeepList(pair, walk, length);
  if (HasPath(length)) pair.effect = EffectOf(walk);
  if (content_ != MemoContent::kBlocks) pair_counts_[pairs_.IndexOf(pair)] = walk.counts;
  return &pair;
}

// There is no room for another effect.
void PathMemo::ForgetAll(PathUses& evicted) {
  for (size_t i = 0; i < kPaths; ++i) {
    Evict(paths_[i], evicted);
    paths_[i] = {};
  }
  for (size_t i = 0; i < kPairs; ++i) {
    Evict(pairs_[i], evicted);
    pairs_[i] = {};
  }
  used_.clear();
  effects_.Clear();
}

// Keeps what was walked: at its place, or behind as many calls as it takes to tell it from others,
// but no more than kMostBehind.
template <class LengthAt, class Keeper>
auto PathMemo::Place(Mixed mixed, const Walk& walk, Step step, const LengthAt& length_at,
                     const Keeper& keep) {
  decltype(keep(mixed, Length{0})) nothing = nullptr;
  if (step == Step::kOn && lists_) {
    if (walk.blocks > BlockLists::kMost)
      step = Step::kNever;
    else if (!lists_->HasRoom(walk.blocks))
      step = Step::kNotNow;
  }
  slow_ = step == Step::kOn       ? SlowPacket::kNewPath
          : step == Step::kNotNow ? SlowPacket::kUnknownCall
                                  : SlowPacket::kNoPath;
  // Behind other calls it may be a path.
  if (step == Step::kNever && walk.effect.needs == 0) keep(mixed, kNever);
  if (step != Step::kOn) return nothing;
  Mixed place = mixed;
  uint64_t behind = 0;
  const unsigned deepest = std::min<unsigned>(walk.effect.needs, kMostBehind);
  for (unsigned newer = 0; newer < deepest; ++newer, behind += kBehindCall) {
    const Length here = length_at(place) ^ behind;
    // A path that is here already is for other calls.
    const bool another = IsPath(here);
    if (another) keep(place, kLookBehindCall ^ behind);
    if (!another && here != kLookBehindCall) break;
    place = MixCall(place, walk.returns.CallAt(newer));
  }
  return keep(place, walk.length() ^ behind);
}

PathMemo::Path* PathMemo::Learn(Seed seed, Packets packets, const ReturnStack& returns,
                                PathUses& evicted) {
  if (effects_.full()) ForgetAll(evicted);
  const Mixed mixed = Mix(seed, packets);
  const uint64_t key = Key(seed);
  const auto length_at = [&](Mixed place) { return LengthOf(At(place), packets, key); };
  slow_ = SlowPacket::kNoPath;
  if (length_at(mixed) == kNever) return nullptr;
  Walk walk(NodeOf(seed), packets.tnt() != 0 ? packets.tnt() >> 1 : 1, returns, Scratch());
  walk.counts.packets = static_cast<uint8_t>(packets.count());
  Step step = packets.tip() ? FollowTip(walk, packets.ip()) : Step::kOn;
  if (step == Step::kOn) step = Follow(walk);
  return Place(mixed, walk, step, length_at, [&](Mixed place, Length length) {
    return Keep(place, packets, key, length, walk, evicted);
  });
}

PathMemo::Path* PathMemo::Find(Seed seed, Packets packets, const ReturnStack& returns,
                               PathUses& evicted) {
  const auto [path, length] = LookUp(seed, packets, returns);
  slow_.reset();
  const bool found = IsPath(length) && Allows(*path, returns);
  return found ? path : Learn(seed, packets, returns, evicted);
}

PathMemo::Pair* PathMemo::LearnPair(Seed seed, uint16_t word, const ReturnStack& returns,
                                    PathUses& evicted) {
  if (effects_.full()) ForgetAll(evicted);
  const Mixed mixed = MixPair(seed, word);
  const uint64_t key = KeyOfPair(seed, word);
  const auto length_at = [&](Mixed place) { return LengthOf(PairAt(place), key); };
  slow_ = SlowPacket::kNoPath;
  if (length_at(mixed) == kNever) return nullptr;
  const Outcomes second = static_cast<Outcomes>(word >> 9);
  const unsigned count = OutcomeCount(second);
  const Outcomes outcomes = (word >> 1 & 0x7fu) << count | (second ^ 1u << count);
  Walk walk(NodeOf(seed), outcomes, returns, Scratch());
  walk.counts.packets = 2;
  return Place(mixed, walk, Follow(walk), length_at, [&](Mixed place, Length length) {
    return KeepPair(place, key, length, walk, evicted);
  });
}

PathMemo::Pair* PathMemo::FindPair(Seed seed, uint16_t word, const ReturnStack& returns,
                                   PathUses& evicted) {
  const auto [pair, length] = LookUpPair(seed, word, returns);
  slow_.reset();
  const bool found = IsPath(length) && Allows(*pair, returns);
  return found ? pair : LearnPair(seed, word, returns, evicted);
}

void PathMemo::FetchAhead(uint32_t used) const {
  const uint32_t index = used & ~kUsedPair;
  if ((used & kUsedPair) != 0) {
    __builtin_prefetch(&pairs_[index]);
    __builtin_prefetch(&pair_counts_[index]);
  } else {
    __builtin_prefetch(&paths_[index]);
    __builtin_prefetch(&counts_[index]);
  }
}

void PathMemo::CountUses(PathUses& sums) {
  constexpr size_t kAhead = 8;  // most are far apart in memory
  for (size_t i = 0; i < used_.size(); ++i) {
    if (i + kAhead < used_.size()) FetchAhead(used_[i + kAhead]);
    const uint32_t index = used_[i] & ~kUsedPair;
    if ((used_[i] & kUsedPair) != 0)
      Count(pairs_[index], sums);
    else
      Count(paths_[index], sums);
  }
  used_.clear();
}

// A path's last block leads to where the path does; what comes behind an indirect branch is where
// that led.
void PathMemo::CountBlocks(uint32_t uses, Seed next, BlockLists::Ref list, PathUses& sums) const {
  if (uses == 0 || sums.blocks == nullptr) return;
  sums.blocks->Use(graph_);
  const std::span<const BlockStep> steps = lists_->At(list);
  for (size_t i = 0; i < steps.size(); ++i) {
    sums.blocks->Add(steps[i], uses);
    if (!IsIndirect(graph_.node(steps[i].number()).last)) continue;
    const uint32_t to = i + 1 < steps.size() ? steps[i + 1].number() : NodeOf(next);
    sums.blocks->AddTarget(steps[i].number(), graph_.info(to).address, uses);
  }
}

void PathMemo::Count(uint32_t& uses, const Counts& each, ExitCounts& counts) {
  if (uses == 0) return;
  const uint64_t times = std::exchange(uses, 0);
  counts.Of(InstructionClass::kConditional, BlockExit::kTaken) += times * each.taken;
  counts.Of(InstructionClass::kConditional, BlockExit::kNotTaken) += times * each.not_taken;
  counts.Of(InstructionClass::kJump, BlockExit::kTaken) += times * each.jumps;
  counts.Of(InstructionClass::kCall, BlockExit::kTaken) += times * each.calls;
  counts.Of(InstructionClass::kReturn, BlockExit::kTaken) += times * each.returns;
  counts.packets += times * each.packets;
  if (each.branch != InstructionClass::kOther) counts.Of(each.branch, BlockExit::kTaken) += times;
}

}  // namespace flowback::pt
