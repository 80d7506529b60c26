// SPDX-License-Identifier: MIT
// The memo of walks: what a run of branch outcomes leads to from a node of the block graph.
//
// A path is the walk that a few packets prove: a short TNT, two with the first one full, a TIP, or
// a TIP and the TNT behind it. (A long TNT is cut into such.) The same paths come again and again,
// so each is walked once and kept with its digest and counts; the next time one look-up takes the
// place of the walk.
//
//   key (node, packets)   ->   next node, instructions, digest, effect; how often used
//
// An example. A function is called from two places, `first` and `second`:
//
//   1000 first:  call callee      1010 callee: jne 1012
//   1005         jne 1000         1012         ret
//   1007 second: call callee
//   100c         jne 1000
//
// From 1000 the outcomes t, t, t lead through the call, the jne, the return and the jne behind the
// call to 1000 again, whichever function called before: the path's own call and return cancel out.
// This holds as long as the code does, and a graph is of one state of the code, so such a path is
// right wherever it is found.
//
// From 1010 the outcomes t, t lead through the return, to 1005 or to 100c: the return stack says
// where. A path's effect remains when its own calls and returns have cancelled out: calls that it
// takes from the stack, then calls that it leaves there. A path knows which calls it takes, and is
// right only where the same calls lie on the stack; Apply looks, and does nothing where they do
// not. When a second caller comes along, what was kept for the first does not make way. The place
// in the table then only says "look behind the newest call", and each caller's path lies at a place
// that depends on that call, too:
//
//   (1010, tt)           ->   look behind the newest call
//   (1010, tt, first)    ->   next 1005, takes `first`
//   (1010, tt, second)   ->   next 100c, takes `second`
//
// Where that does not distinguish two paths, a second call becomes part of the key; with a third
// one the path takes the other's place.
//
// A path is never stale, but it may be gone: the tables are direct-mapped, and a new path takes the
// place of an old one, whose uses are added up first. All are forgotten at once when there is no
// room for another effect. path_key.h draws the keys; path_walk.h makes the walks.
//
// Sinks that want every block, or to know how often each was executed, get memos of their own,
// whose paths list the blocks that they pass.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/zeroed_pool.h"
#include "decode/call_tracker.h"
#include "decode/effort.h"
#include "decode/flow/block_counter.h"
#include "decode/flow/block_marks.h"
#include "decode/flow/range_counter.h"
#include "decode/pt/flow_names.h"
#include "decode/pt/memo/effect_table.h"
#include "decode/pt/memo/path_calls.h"
#include "decode/pt/memo/path_ends.h"
#include "decode/pt/memo/path_key.h"
#include "decode/pt/memo/path_walk.h"
#include "decode/pt/memo/return_stack.h"

namespace flowback::pt {

// How a walk's blocks were left, by class of their last instruction.
struct ExitCounts {
  uint64_t exits[16][4] = {};  // [InstructionClass][BlockExit]
  uint64_t packets = 0;        // of the paths that were taken

  uint64_t& Of(InstructionClass kind, BlockExit exit) {
    return exits[static_cast<unsigned>(kind)][static_cast<unsigned>(exit)];
  }
  void Add(const PathCounts& each, uint64_t times);
};

// Where a memo adds up the uses of its paths.
struct PathUses {
  ExitCounts exits;
  flow::BlockCounter* blocks = nullptr;  // null: the blocks are not counted
  flow::BlockMarks* marks = nullptr;     // not null: all else is nothing, blocks are marked here
  flow::RangeCounter* ranges = nullptr;  // null: ranges of code are not counted
};

// What a memo keeps of its paths beside where they lead.
enum class MemoContent : uint8_t {
  kUses,           // how often they are used
  kBlocks,         // the blocks that they pass
  kUsesAndBlocks,  // both: how often each block is executed follows
  kUsesAndRanges,  // all that, and where its ranges of code begin and end
};

// The paths of one kind of packets, by key.
template <class Packets>
class PathTable {
 public:
  static constexpr size_t kSize = size_t{1} << (std::is_same_v<Packets, TipTnt> ? 15 : 16);
  static constexpr size_t kBytes =
      ZeroedPool::SizeOf<Path<Packets>>(kSize) + ZeroedPool::SizeOf<PathCounts>(kSize);

  // `lists`: the lists of blocks are kept beside the paths, for uses are kept in them.
  PathTable(ZeroedPool& pool, bool lists)
      : paths_(pool.Take<Path<Packets>>(kSize)),
        counts_(pool.Take<PathCounts>(kSize)),
        lists_(lists ? kSize : 0) {}

  // Keeps each path's note, too, where that is not kept in the path.
  void KeepNotes() { notes_.resize(kSize); }

  // Returns the slot of such a key, which may hold another path.
  Path<Packets>& At(const PathKey<Packets>& key) {
    const size_t offset = key.place() & (kSize - 1) * sizeof(Path<Packets>);
    return *reinterpret_cast<Path<Packets>*>(reinterpret_cast<uint8_t*>(paths_) + offset);
  }
  uint32_t IndexOf(const Path<Packets>& path) const {
    return static_cast<uint32_t>(&path - paths_);
  }
  Path<Packets>& operator[](size_t index) { return paths_[index]; }
  PathCounts& counts(size_t index) { return counts_[index]; }
  BlockLists::Ref& list(size_t index) { return lists_[index]; }
  // REQUIRES: KeepNotes; the packets are beside the paths.
  uint32_t& note(size_t index) { return notes_[index]; }
  void FetchAhead(size_t index) const {
    __builtin_prefetch(&paths_[index]);
    __builtin_prefetch(&counts_[index]);
    if (!lists_.empty()) __builtin_prefetch(&lists_[index]);
  }

 private:
  Path<Packets>* const paths_;
  PathCounts* const counts_;
  std::vector<BlockLists::Ref> lists_;
  std::vector<uint32_t> notes_;
};

// Not thread-safe; the graph must outlive it.
class PathMemo {
 public:
  // `compressed_returns`: whether the trace has them; else the return stack is left alone.
  PathMemo(BlockGraph& graph, bool compressed_returns, MemoContent content = MemoContent::kUses)
      : graph_(graph),
        compressed_returns_(compressed_returns),
        content_(content),
        lists_(content != MemoContent::kUses ? std::make_unique<BlockLists>() : nullptr) {
    if (content == MemoContent::kUsesAndRanges) tip_tnts_.KeepNotes();
  }

  const BlockGraph& graph() const { return graph_; }
  bool compressed_returns() const { return compressed_returns_; }
  MemoContent content() const { return content_; }
  // REQUIRES: the content is kBlocks.
  const BlockLists& lists() const { return *lists_; }

  // How many blocks a path passes. REQUIRES: the content is kUsesAndBlocks.
  template <class Packets>
  unsigned BlocksOf(const Path<Packets>& path) {
    if constexpr (!Path<Packets>::kPacketsBeside) return path.block_count();
    return BlockLists::CountOf(Table<Packets>().list(Table<Packets>().IndexOf(path)));
  }

  // A path's steps, valid until another one is learned. REQUIRES: uses and blocks are kept.
  template <class Packets>
  std::span<const BlockStep> StepsOf(const Path<Packets>& path) {
    return lists_->At(Table<Packets>().list(Table<Packets>().IndexOf(path)));
  }
  // REQUIRES: the content is kUsesAndRanges.
  template <class Packets>
  [[gnu::always_inline]] SharedEnds& EndsOf(const Path<Packets>& path) {
    return ends_table_[NoteOf(path)];
  }

  // ---- calls ----

  // From now on it is known what each path does to the call stack; all paths are learned anew.
  // Null: that is no longer needed. REQUIRES: the content is kUsesAndBlocks.
  void FollowCalls(CallJudge* judge, PathUses& evicted);
  // The flow goes along a path: adds what that does to the call stack. REQUIRES: FollowCalls.
  template <class Packets>
  [[gnu::always_inline]] void FollowCallsOf(const Path<Packets>& path, CallTracker& tracker) {
    if (const PathCalls calls = NoteOf(path); calls != 0) tracker.Append(call_table_, calls);
  }

  // ---- look-up ----

  // A slot, and what it says of the packets that were asked for.
  template <class Packets>
  struct Found {
    Path<Packets>* path;
    Answer answer;
  };
  // Where a step of the hot loop begins. Whether a path is right the stack is still to be asked.
  template <class Packets>
  [[gnu::always_inline]] Found<Packets> LookUp(Seed seed, Packets packets,
                                               const ReturnStack& returns) {
    PathKey<Packets> key(seed, packets);
    Path<Packets>* path = &Table<Packets>().At(key);
    Answer answer = path->AnswerTo(key);
    for (unsigned newer = 0; answer == Answer::LookBehindCall(); ++newer) {
      key.LookBehind(returns.CallAt(newer));
      path = &Table<Packets>().At(key);
      answer = path->AnswerTo(key);
    }
    return {path, answer};
  }

  // Returns the answer for packets without a look at the stack.
  template <class Packets>
  Answer FirstAnswer(Seed seed, Packets packets) {
    const PathKey<Packets> key(seed, packets);
    return Table<Packets>().At(key).AnswerTo(key);
  }

  template <class Packets>
  const ReturnStack::Effect& EffectOf(const Path<Packets>& path) const {
    return effects_[path.effect()];
  }
  // What a path does to the stack; false, and nothing is done, where it is not right there.
  template <class Packets>
  [[gnu::always_inline]] bool Apply(const Path<Packets>& path, ReturnStack& returns) const {
    const ReturnStack::Effect& effect = EffectOf(path);
    return returns.Apply(effect) || (effect.deep() && ApplyDeep(effect, returns));
  }
  template <class Packets>
  bool Allows(const Path<Packets>& path, const ReturnStack& returns) const {
    const ReturnStack::Effect& effect = EffectOf(path);
    return effect.deep() ? returns.Allows(effect, effects_.Deep(effect)) : returns.Allows(effect);
  }

  // ---- learning ----

  // Why the last Learn or Find was no mere look-up; empty: it was one.
  std::optional<SlowPacket> slow() const { return slow_; }

  // The path of these packets where the stack is `returns`: walks it and keeps it. Null: walk
  // without. Paths that give way are counted in `evicted` first.
  template <class Packets>
  Path<Packets>* Learn(Seed seed, Packets packets, const ReturnStack& returns, PathUses& evicted);
  // The same, but of packets whose path may be there.
  template <class Packets>
  Path<Packets>* Find(Seed seed, Packets packets, const ReturnStack& returns, PathUses& evicted);

  // ---- uses ----

  // A path's first use since the uses were counted. True: count them now, the list of those that
  // are to be counted has become long.
  template <class Packets>
  bool Use(const Path<Packets>& path) {
    constexpr size_t kMost = size_t{1} << 18;  // paths that were learned anew are listed anew
    used_.push_back(Table<Packets>().IndexOf(path) | kUsedPair * std::is_same_v<Packets, TntPair>);
    return used_.size() >= kMost;
  }
  // Adds the uses of all, or of one path.
  void CountUses(PathUses& sums);
  template <class Packets>
  void Count(Path<Packets>& path, PathUses& sums);

 private:
  static constexpr uint32_t kUsedPair = uint32_t{1} << 31;

  template <class Packets>
  PathTable<Packets>& Table() {
    if constexpr (std::is_same_v<Packets, TipTnt>)
      return tip_tnts_;
    else
      return tnt_pairs_;
  }
  PathWalk::Result Judge(const PathWalk& walk, PathWalk::Result result);
  template <class Packets>
  Path<Packets>* Place(PathKey<Packets> key, const PathWalk& walk, const ReturnStack& returns,
                       PathUses& evicted);
  template <class Packets>
  Path<Packets>* Keep(const PathKey<Packets>& key, Answer answer, const PathWalk& walk,
                      PathUses& evicted);
  BlockLists::Lead LeadOf(std::span<const BlockStep> steps) const;
  template <class Packets>
  void KeepList(Path<Packets>& path, const PathWalk& walk, Answer answer);
  template <class Packets>
  [[gnu::always_inline]] uint32_t NoteOf(const Path<Packets>& path) {
    if constexpr (!Path<Packets>::kPacketsBeside) return path.note();
    return Table<Packets>().note(Table<Packets>().IndexOf(path));
  }
  uint32_t MakeNote(const PathWalk& walk);
  template <class Packets>
  void KeepNote(Path<Packets>& path, const PathWalk& walk);
  template <class Packets>
  void Evict(Path<Packets>& path, PathUses& evicted);
  template <class Packets>
  void ForgetTable(PathUses& evicted);
  void ForgetAll(PathUses& evicted);
  template <class Packets>
  void AddUses(Path<Packets>& path, PathUses& sums);
  template <class Packets>
  void MarkUses(Path<Packets>& path, flow::BlockMarks& marks);
  template <class Visitor>
  void ForEachUsed(Visitor visit);
  void CountEnds(PathUses& sums);
  void CountBlocks(uint32_t uses, Seed next, BlockLists::Ref list, PathUses& sums) const;
  bool KeepsNotes() const { return judge_ != nullptr || content_ == MemoContent::kUsesAndRanges; }
  bool CountsBlocks() const { return content_ >= MemoContent::kUsesAndBlocks; }
  void FetchAhead(uint32_t used) const;
  void FetchListAhead(uint32_t used);
  bool ApplyDeep(const ReturnStack::Effect& effect, ReturnStack& returns) const;

  BlockGraph& graph_;
  const bool compressed_returns_;
  const MemoContent content_;
  std::optional<SlowPacket> slow_;
  const std::unique_ptr<BlockLists> lists_;           // null: blocks are not wanted
  std::array<BlockStep, BlockLists::kMost> scratch_;  // of the walk in work
  ZeroedPool pool_{PathTable<TipTnt>::kBytes + PathTable<TntPair>::kBytes};
  PathTable<TipTnt> tip_tnts_{pool_, CountsBlocks()};
  PathTable<TntPair> tnt_pairs_{pool_, CountsBlocks()};
  std::vector<uint32_t> used_;  // whose uses are not counted yet; may name one twice
  EffectTable effects_;
  CallJudge* judge_ = nullptr;  // null: calls are not followed
  PathCallTable call_table_;
  PathEndsTable ends_table_;
  // A memo of few paths shall not take the memory of a full one.
  static constexpr unsigned kManyPaths = 128;
  unsigned kept_ = 0;  // no more than kManyPaths
};

}  // namespace flowback::pt
