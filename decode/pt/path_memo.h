// SPDX-License-Identifier: MIT
// The memo of walks: what a run of branch outcomes leads to from a node of the block graph.
//
// A path is the walk that a few outcomes prove: one short TNT packet's, those of two of which the
// first is full, or a TIP's and those of the TNT packet behind it. A long TNT packet is cut into
// such. The same paths come again and again, so each is walked once and kept with its digest and
// counts; the next time one look-up takes the place of the walk.
//
//   key (node, outcomes)   ->   next node, instructions, digest, effect; how often used
//
// Compressed returns lead to where the return stack says. A path's own calls and returns cancel
// out; what is left, its effect, are returns of calls that were on the stack before, then calls
// that have not returned. A path knows which calls those returns take, and is right only where the
// same lie on the stack. Where a second caller comes along, the paths are kept in other places,
// found by the newest calls too, so that they don't replace each other:
//
//   (node, outcomes)          ->  "look behind the newest call"
//   (node, outcomes, call)    ->  the path, if the stack holds its calls; or "look behind the next"
//
// The tables are direct-mapped: a new path takes the place of an old one.
//
// Sinks that want every block, or to know how often each was executed, get memos of their own,
// whose paths list the blocks that they pass.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/zeroed_pool.h"
#include "decode/flow/block_counter.h"
#include "decode/pt/effect_table.h"
#include "decode/pt/flow_names.h"
#include "decode/pt/return_stack.h"
#include "flowback/decode/effort.h"

namespace flowback::pt {

// How a walk's blocks were left, by class of their last instruction.
struct ExitCounts {
  uint64_t exits[16][4] = {};  // [InstructionClass][BlockExit]
  uint64_t packets = 0;        // of the paths that were taken

  uint64_t& Of(InstructionClass kind, BlockExit exit) {
    return exits[static_cast<unsigned>(kind)][static_cast<unsigned>(exit)];
  }
};

// Where a memo adds up the uses of its paths.
struct PathUses {
  ExitCounts exits;
  flow::BlockCounter* blocks = nullptr;  // null: the blocks are not counted
};

// What a memo keeps of its paths beside where they lead.
enum class MemoContent : uint8_t {
  kUses,           // how often they are used
  kBlocks,         // the blocks that they pass
  kUsesAndBlocks,  // both: how often each block is executed follows
};

// Branch outcomes, the oldest in the highest bit, below a one that marks their number.
using Outcomes = uint32_t;
constexpr unsigned OutcomeCount(Outcomes outcomes) {
  return 31 - static_cast<unsigned>(__builtin_clz(outcomes));
}

// A big array of zeros.
template <class T>
class ZeroedArray {
 public:
  ZeroedArray(ZeroedPool& pool, size_t count) : items_(pool.Take<T>(count)) {}
  T& operator[](size_t index) { return items_[index]; }
  const T& operator[](size_t index) const { return items_[index]; }
  // `offset`: of an item, in bytes.
  T& AtOffset(size_t offset) {
    return *reinterpret_cast<T*>(reinterpret_cast<uint8_t*>(items_) + offset);
  }
  size_t IndexOf(const T& item) const { return static_cast<size_t>(&item - items_); }

 private:
  T* const items_;
};

class PathMemo {
 public:
  // A node's part of a key; another writing of its number.
  using Seed = uint32_t;

  // How many instructions a path has, with kEffect if it does something to the return stack. 0, and
  // kSign and above: no path.
  using Length = uint64_t;
  static constexpr Length kEffect = 1 << 11;
  static constexpr Length kSign = 1 << 12;
  static bool IsPath(Length length) { return length - 1 < kSign - 1; }
  // The same with kBehindCall in it.
  static bool HasPath(Length length) { return IsPath(length & (2 * kSign - 1)); }
  static bool HasEffect(Length path) { return path >= kEffect; }
  static uint64_t InstructionsOf(Length path) { return path & (kEffect - 1); }
  // The digest's factor of so many instructions.
  static uint64_t PowerOf(Length path) { return kPowers[InstructionsOf(path)]; }
  // Instead of a length, of packets that have no path there.
  static constexpr Length kLookBehindCall = kSign + 1;
  static constexpr Length kNever = kSign + 2;

  // A TIP packet, a TNT packet, or a TIP and the TNT behind it, in a word that tells them from all
  // others. Only of targets that are sign-extended from 48 bits: see HasWord.
  class Packets {
   public:
    Packets() = default;
    static constexpr Packets Tnt(uint8_t tnt) { return Packets(uint64_t{tnt} << kTntShift); }
    static constexpr Packets Tip(uint64_t ip) { return Packets(ip << kIpShift | kTip); }
    static constexpr bool HasWord(uint64_t ip) {
      return ip == static_cast<uint64_t>(static_cast<int64_t>(ip << kIpShift) >> kIpShift);
    }
    // The same with a short TNT packet behind it. REQUIRES: there is none.
    constexpr Packets With(uint8_t tnt) const {
      return Packets(word_ | uint64_t{tnt} << kTntShift);
    }
    constexpr Packets WithoutTnt() const { return Packets(word_ & ~(uint64_t{0xff} << kTntShift)); }

    uint64_t word() const { return word_; }
    bool tip() const { return (word_ & kTip) != 0; }
    uint8_t tnt() const { return static_cast<uint8_t>(word_ >> kTntShift); }  // 0: none
    uint64_t ip() const { return static_cast<uint64_t>(static_cast<int64_t>(word_) >> kIpShift); }
    int count() const { return int{tip()} + int{tnt() != 0}; }

   private:
    static constexpr uint64_t kTip = 1;
    static constexpr unsigned kTntShift = 8;
    static constexpr unsigned kIpShift = 16;
    explicit constexpr Packets(uint64_t word) : word_(word) {}

    uint64_t word_ = 0;
  };
  // The path of such packets. Half a line of the cache.
  struct alignas(32) Path {
    static constexpr unsigned kUsualBlocks = 8;  // no more, in most

    uint64_t word = 0;  // of the packets
    uint64_t key = 0;   // the node; the Length; the effect's number
    uint64_t hash = 0;
    Seed next = 0;
    union {
      uint32_t uses = 0;  // that are in no sum yet
      BlockLists::Ref blocks;
    };
  };
  static_assert(sizeof(Path) == 32);
  // The path of two short TNT packets, the first one full.
  struct alignas(32) Pair {
    static constexpr unsigned kUsualBlocks = 16;

    uint64_t key = 0;  // the node, the packets, the Length
    uint64_t hash = 0;
    Seed next = 0;
    union {
      uint32_t uses = 0;
      BlockLists::Ref blocks;
    };
    EffectTable::Number effect = 0;
  };
  static_assert(sizeof(Pair) == 32);

  // `compressed_returns`: whether the trace has them; else the return stack is left alone.
  PathMemo(BlockGraph& graph, bool compressed_returns, MemoContent content = MemoContent::kUses)
      : graph_(graph),
        compressed_returns_(compressed_returns),
        content_(content),
        lists_(content != MemoContent::kUses ? std::make_unique<BlockLists>() : nullptr),
        path_lists_(CountsBlocks() ? kPaths : 0),
        pair_lists_(CountsBlocks() ? kPairs : 0) {}

  const BlockGraph& graph() const { return graph_; }
  bool compressed_returns() const { return compressed_returns_; }
  MemoContent content() const { return content_; }
  // REQUIRES: the content is kBlocks.
  const BlockLists& lists() const { return *lists_; }

  static Seed SeedOf(uint32_t node) { return node * kFactor; }
  static uint32_t NodeOf(Seed seed) { return seed * kInverse; }

  // ---- look-up ----

  // All of a key mixed, to tell the place in the table: some of the bits are its offset there. The
  // seed comes in last, for that is what a look-up waits for.
  using Mixed = uint32_t;
  static Mixed Mix(Seed seed, Packets packets) {
    return seed ^ static_cast<Mixed>(packets.word() * FlowDigest::kFactor >> 32);
  }
  static uint64_t Key(Seed seed) { return uint64_t{seed} << 32; }
  Path& At(Mixed mixed) { return paths_.AtOffset(mixed & (kPaths - 1) * sizeof(Path)); }
  static Length LengthOf(const Path& path, Packets packets, uint64_t key) {
    const Length length = (path.key ^ key) >> kNumberBits;
    return path.word == packets.word() ? length : 0;
  }

  // `word`: two short TNT packets as they lie in memory, little-endian; the first is full.
  static Mixed MixPair(Seed seed, uint16_t word) {
    return seed ^ static_cast<Mixed>(word * FlowDigest::kFactor >> 32);
  }
  static uint64_t KeyOfPair(Seed seed, uint16_t word) {
    return Key(seed) | uint64_t{word} << kLengthBits;
  }
  Pair& PairAt(Mixed mixed) { return pairs_.AtOffset(mixed & (kPairs - 1) * sizeof(Pair)); }
  static Length LengthOf(const Pair& pair, uint64_t key) { return pair.key ^ key; }

  // Of paths that are found behind calls, too: so many times kBehindCall is in their keys.
  static constexpr uint64_t kBehindCall = 1 << 13;
  static constexpr unsigned kMostBehind = 2;
  static Mixed MixCall(Mixed mixed, uint32_t call) { return (mixed + call + 1) * kCallFactor; }

  const ReturnStack::Effect& EffectOf(const Path& path) const {
    return effects_[static_cast<EffectTable::Number>(path.key)];
  }
  const ReturnStack::Effect& EffectOf(const Pair& pair) const { return effects_[pair.effect]; }
  // What a path does to the stack; false, and nothing is done, where it is not right there.
  template <class Any>
  [[gnu::always_inline]] bool Apply(const Any& path, ReturnStack& returns) const {
    const ReturnStack::Effect& effect = EffectOf(path);
    return returns.Apply(effect) || (effect.deep() && ApplyDeep(effect, returns));
  }
  template <class Any>
  bool Allows(const Any& path, const ReturnStack& returns) const {
    const ReturnStack::Effect& effect = EffectOf(path);
    return effect.deep() ? returns.Allows(effect, effects_.Deep(effect)) : returns.Allows(effect);
  }
  static Length LengthOf(const Path& path) { return path.key >> kNumberBits & (2 * kSign - 1); }
  static Length LengthOf(const Pair& pair) { return pair.key & (2 * kSign - 1); }

  // What is kept of packets, and its length; something else than a path's if there is none.
  template <class Kept>
  struct Found {
    Kept* kept;
    Length length;
  };
  // Where a step begins; whether the path is right is still to be asked of the stack.
  [[gnu::always_inline]] Found<Pair> LookUpPair(Seed seed, uint16_t word,
                                                const ReturnStack& returns) {
    Mixed mixed = MixPair(seed, word);
    uint64_t key = KeyOfPair(seed, word);
    Pair* pair = &PairAt(mixed);
    Length length = LengthOf(*pair, key);
    for (unsigned newer = 0; length == kLookBehindCall; ++newer) {
      mixed = MixCall(mixed, returns.CallAt(newer));
      pair = &PairAt(mixed);
      key += kBehindCall;
      length = LengthOf(*pair, key);
    }
    return {pair, length};
  }
  [[gnu::always_inline]] Found<Path> LookUp(Seed seed, Packets packets,
                                            const ReturnStack& returns) {
    Mixed mixed = Mix(seed, packets);
    uint64_t key = Key(seed);
    Path* path = &At(mixed);
    Length length = LengthOf(*path, packets, key);
    for (unsigned newer = 0; length == kLookBehindCall; ++newer) {
      mixed = MixCall(mixed, returns.CallAt(newer));
      path = &At(mixed);
      key += kBehindCall << kNumberBits;
      length = LengthOf(*path, packets, key);
    }
    return {path, length};
  }

  // ---- learning ----

  // Why the last Learn or Find was no mere look-up; empty: it was one.
  std::optional<SlowPacket> slow() const { return slow_; }

  // The path of these packets where the stack is `returns`: walks it and keeps it. Null: walk
  // without. Paths that give way are counted in `evicted` first.
  Path* Learn(Seed seed, Packets packets, const ReturnStack& returns, PathUses& evicted);
  Pair* LearnPair(Seed seed, uint16_t word, const ReturnStack& returns, PathUses& evicted);
  // The same, but of packets whose path may be there.
  Path* Find(Seed seed, Packets packets, const ReturnStack& returns, PathUses& evicted);
  Pair* FindPair(Seed seed, uint16_t word, const ReturnStack& returns, PathUses& evicted);
  // A path's first use since the uses were counted. True: count them now, the list of those that
  // are to be counted has become long.
  bool Use(const Path& path) { return AddUsed(static_cast<uint32_t>(paths_.IndexOf(path))); }
  bool Use(const Pair& pair) {
    return AddUsed(static_cast<uint32_t>(pairs_.IndexOf(pair)) | kUsedPair);
  }
  // Adds the uses of all, or of one path.
  void CountUses(PathUses& sums);
  void Count(Path& path, PathUses& sums) {
    const size_t index = paths_.IndexOf(path);
    if (CountsBlocks()) CountBlocks(path.uses, path.next, path_lists_[index], sums);
    Count(path.uses, counts_[index], sums.exits);
  }
  void Count(Pair& pair, PathUses& sums) {
    const size_t index = pairs_.IndexOf(pair);
    if (CountsBlocks()) CountBlocks(pair.uses, pair.next, pair_lists_[index], sums);
    Count(pair.uses, pair_counts_[index], sums.exits);
  }

 private:
  static const std::array<uint64_t, kEffect> kPowers;
  static constexpr uint32_t kCallFactor = 0xd192ed03;
  static constexpr uint32_t kFactor = static_cast<uint32_t>(FlowDigest::kFactor);
  static constexpr uint32_t kInverse = [] {
    uint32_t inverse = kFactor;  // right in the lowest three bits; each round doubles them
    for (int i = 0; i < 4; ++i) inverse *= 2 - kFactor * inverse;
    return inverse;
  }();
  // Of a Path's key the lowest: the effect's number; then the Length, with kBehindCall in it.
  static constexpr unsigned kNumberBits = 8 * sizeof(EffectTable::Number);
  static constexpr unsigned kIndexBits = 15;
  static constexpr unsigned kPairIndexBits = 16;
  static constexpr unsigned kLengthBits = 16;
  static_assert(kMostBehind * kBehindCall + 2 * kSign <= uint64_t{1} << kLengthBits);
  static_assert(kNumberBits + kLengthBits <= 32);  // the node's are the highest

  // How a path's blocks are left.
  struct Counts {
    InstructionClass branch = InstructionClass::kOther;  // of the TIP
    uint8_t taken = 0;
    uint8_t not_taken = 0;
    uint8_t jumps = 0;
    uint8_t calls = 0;
    uint8_t returns = 0;  // compressed ones
    uint8_t packets = 0;
  };
  static constexpr uint32_t kUsedPair = uint32_t{1} << 31;
  struct Walk;
  enum class Step : uint8_t { kOn, kNever, kNotNow };
  Step Follow(Walk& walk);
  template <bool kLists>
  void FollowUsual(Walk& walk);
  Step FollowTip(Walk& walk, uint64_t ip);
  Step Advance(Walk& walk);
  Step StepOver(Walk& walk, const Node& node);
  Step Return(Walk& walk);
  bool Push(Walk& walk);
  template <class LengthAt, class Keep>
  auto Place(Mixed mixed, const Walk& walk, Step step, const LengthAt& length_at, const Keep& keep);
  Path* Keep(Mixed mixed, Packets packets, uint64_t key, Length length, const Walk& walk,
             PathUses& evicted);
  Pair* KeepPair(Mixed mixed, uint64_t key, Length length, const Walk& walk, PathUses& evicted);
  // A path is about to be kept.
  void OnKeep() {
    if (kept_ < kManyPaths && ++kept_ == kManyPaths) pool_.MakeResident();
  }
  static void Count(uint32_t& uses, const Counts& each, ExitCounts& counts);
  void CountBlocks(uint32_t uses, Seed next, BlockLists::Ref list, PathUses& sums) const;
  bool CountsBlocks() const { return content_ == MemoContent::kUsesAndBlocks; }
  // The list of a path that is kept there; of a memo that counts blocks.
  BlockLists::Ref& CountedList(const Path& path) { return path_lists_[paths_.IndexOf(path)]; }
  BlockLists::Ref& CountedList(const Pair& pair) { return pair_lists_[pairs_.IndexOf(pair)]; }
  template <class Any>
  void KeepList(Any& path, const Walk& walk, Length length);
  bool AddUsed(uint32_t used) {
    constexpr size_t kMost = size_t{1} << 18;  // paths that were learned anew are listed anew
    used_.push_back(used);
    return used_.size() >= kMost;
  }
  void FetchAhead(uint32_t used) const;
  template <class Any>
  void Evict(Any& path, PathUses& evicted);
  BlockStep* Scratch() { return lists_ ? scratch_.data() : nullptr; }
  BlockLists::Ref ListOf(const Walk& walk, Length length);
  EffectTable::Number EffectOf(const Walk& walk);
  void ForgetAll(PathUses& evicted);
  bool ApplyDeep(const ReturnStack::Effect& effect, ReturnStack& returns) const;

  BlockGraph& graph_;
  const bool compressed_returns_;
  const MemoContent content_;
  std::optional<SlowPacket> slow_;
  const std::unique_ptr<BlockLists> lists_;           // null: blocks are not wanted
  std::array<BlockStep, BlockLists::kMost> scratch_;  // of the walk in work
  static constexpr size_t kPaths = size_t{1} << kIndexBits;
  static constexpr size_t kPairs = size_t{1} << kPairIndexBits;
  ZeroedPool pool_{ZeroedPool::SizeOf<Path>(kPaths) + ZeroedPool::SizeOf<Counts>(kPaths) +
                   ZeroedPool::SizeOf<Pair>(kPairs) + ZeroedPool::SizeOf<Counts>(kPairs)};
  ZeroedArray<Path> paths_{pool_, kPaths};
  ZeroedArray<Counts> counts_{pool_, kPaths};
  ZeroedArray<Pair> pairs_{pool_, kPairs};
  ZeroedArray<Counts> pair_counts_{pool_, kPairs};
  // Of memos that count blocks; the others keep their lists, if any, with the paths.
  std::vector<BlockLists::Ref> path_lists_;
  std::vector<BlockLists::Ref> pair_lists_;
  std::vector<uint32_t> used_;  // whose uses are not counted yet; may name one twice
  EffectTable effects_;
  // A memo of few paths shall not take the memory of a full one.
  static constexpr unsigned kManyPaths = 128;
  unsigned kept_ = 0;  // no more than kManyPaths
};

}  // namespace flowback::pt
