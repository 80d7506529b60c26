// SPDX-License-Identifier: MIT
// The contract between the flow engine and its sink: the engine's calls, and its questions.
//
// The engine is a template on its sink, so that counting and delivering each get a hot loop of
// their own, in which a call of the sink costs no call. A sink declares with flags what it needs;
// the rest is not even compiled. It derives from SinkDefaults and writes only what it does
// differently: Block, Part and retired at least.
//
// An engine calls its sink from one thread, and the sink must outlive it.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "decode/effort.h"
#include "decode/pt/flow_names.h"
#include "decode/pt/memo/path_memo.h"
#include "decode/pt/time/clock.h"
#include "decode/pt/time/packet_ending.h"
#include "flowback/base/flow_digest.h"
#include "flowback/model/execution.h"

namespace flowback::pt {

// What a sink may ask about the moment to which a part of the flow belongs.
struct Moment {
  uint64_t tsc = 0;
  bool in_transaction = false;
};

// How far the account of bytes has come where one stay of a thread ends and the next begins.
struct PartMark {
  uint64_t offset = 0;
  uint64_t padding = 0;
  uint64_t lost = 0;
  uint64_t tsc = 0;
};

// The usual Run of a sink: it hands on block by block.
template <class Sink>
class BlockByBlock {
 public:
  explicit BlockByBlock(Sink& sink) : sink_(sink) {}
  void Conditional(BlockGraph& graph, uint32_t id, const Node& node, unsigned taken,
                   const Moment& moment) {
    uint64_t next = 0;
    if constexpr (Sink::kWantsAddresses) next = graph.SuccessorAddress(id, taken);
    sink_.Block(graph, id, node, taken != 0 ? BlockExit::kTaken : BlockExit::kNotTaken, next,
                moment);
  }
  void Block(BlockGraph& graph, uint32_t id, const Node& node, BlockExit exit, uint64_t next,
             const Moment& moment) {
    sink_.Block(graph, id, node, exit, next, moment);
  }

 private:
  Sink& sink_;
};

// A sink that needs only the flow, and ignores events and losses.
template <class Sink>
class SinkDefaults {
 public:
  // ---- what the sink wants ----

  // Block's `next`; else it is 0 where the code alone shows it.
  static constexpr bool kWantsAddresses = false;
  // Marks of the trace's clock, and how packets end. The sink has Mark, WantsPacketEnd, PacketEnd,
  // HoldBack (of a TIP that may have been held back, before its flow) and LossBegins.
  static constexpr bool kWantsTimes = false;
  // Whole paths at a time, by the memo of walks (path_memo.h), whose content is kMemoContent. The
  // engine itself adds a path's instructions to flow(), which only such a sink has.
  static constexpr bool kMemoises = false;
  static constexpr MemoContent kMemoContent = MemoContent::kUses;
  // The engine counts each use of a path, and reports the first one to the sink with Use.
  static constexpr bool kCountsUses = false;
  // Uses may stay in the memo when the engine stops and goes on: no other engine has its memos.
  static constexpr bool kKeepsUses = false;
  // The memo keeps how often each block was executed; the sink has TakeCounts.
  static constexpr bool kCountsBlocks = false;
  // The memo keeps where the ranges of code on paths begin and end. The engine reports each path:
  // BeginPaths, OnPath, EndPaths.
  static constexpr bool kCountsRanges = false;
  // The engine reports the number of blocks on paths: AddBlocks.
  static constexpr bool kSumsBlocks = false;
  // The engine reports changes of the call stack by paths, where the sink's judge() is not null:
  // calls().
  static constexpr bool kFollowsCalls = false;
  // The engine writes the blocks of paths into the sink's step buffer: BeginPaths, end, Limit,
  // EndPaths, HasRoom and MakeRoom.
  static constexpr bool kListsBlocks = false;
  // A packet that a CYC has timed may be taken by its path, too. The sink then has TellFlow, which
  // is called before, and TellLead: the path's first instructions, up to the end of the first one
  // that takes a packet, are timed.
  static constexpr bool kTimesLeads = false;
  // It matters to the sink where packets end, so it may ask with TakesPaths and TakesSingles that
  // they be taken one by one; packets of time are never passed over.
  static constexpr bool kHearsPackets = false;

  // ---- the flow, in program order ----

  // Every sink has these; the engine calls them for flow outside of paths:
  //   void Block(BlockGraph&, uint32_t id, const Node&, BlockExit, uint64_t next, const Moment&)
  //     the whole block `id` was executed, and left in that way for address `next`
  //   void Part(BlockGraph&, uint32_t id, unsigned count, const Moment&)
  //     the first `count` instructions of block `id`, which may be 0, were executed
  //   uint64_t retired() const
  //     the number of its instructions, those of paths included

  // Blocks in a row, without any other item between them. The engine makes one Run before them and
  // drops it behind them, so a sink may keep its sums in registers meanwhile.
  using Run = BlockByBlock<Sink>;
  void Event(const TraceEvent&) {}
  void Loss(const DataLoss&) {}
  // The sink wants no more: the engine soon stops, and may hand on a little more before it does.
  bool Done() const { return false; }

  // ---- stays of threads ----

  // Later flow is `stay`'s; null: of an unknown thread.
  void Enter(const ThreadStay* stay, const PartMark&) { stay_ = stay; }
  const ThreadStay* stay() const { return stay_; }
  // Forgets everything but the stay: the flow goes on from another state.
  void Restart(const PartMark&) {}

  // ---- paths: only where kMemoises ----

  // The uses of paths must be added up now, as the memo may go.
  void CountUses() {}
  // Where the uses of paths go that make place for others.
  PathUses& uses() { return no_uses_; }
  // Packets that were taken by paths beyond those that the paths' uses stand for (`packets` may be
  // negative), and those that were not, for the effort that decoding took.
  void Fast(int64_t) {}
  void Slow(SlowPacket, uint64_t = 1) {}

  // ---- packets one by one: only where kHearsPackets ----

  // Whole paths may be taken from here on.
  bool TakesPaths() const { return true; }
  // The next block must be handed on by itself.
  bool TakesSingles() const { return false; }

 private:
  const ThreadStay* stay_ = nullptr;
  PathUses no_uses_;
};

// The flags that fit together.
template <class Sink>
concept FittingFlags = requires {
  requires !Sink::kListsBlocks || (Sink::kMemoises && Sink::kHearsPackets);
  requires !Sink::kListsBlocks || Sink::kMemoContent == MemoContent::kBlocks;
  requires !Sink::kCountsUses || Sink::kMemoises;
  requires !Sink::kTimesLeads || (Sink::kMemoises && Sink::kWantsTimes && !Sink::kListsBlocks);
  requires !Sink::kSumsBlocks || Sink::kMemoContent == MemoContent::kUsesAndBlocks;
  requires !Sink::kCountsRanges || Sink::kMemoContent == MemoContent::kUsesAndRanges;
  requires !Sink::kCountsRanges || Sink::kCountsUses;
  requires !Sink::kCountsBlocks || Sink::kMemoContent == MemoContent::kUsesAndBlocks;
};

template <class Sink>
concept TakesBlocks =
    requires(Sink& sink, const Sink& asked, typename Sink::Run& run, BlockGraph& graph, uint32_t id,
             const Node& node, const Moment& moment) {
      sink.Block(graph, id, node, BlockExit::kTaken, uint64_t{}, moment);
      sink.Part(graph, id, unsigned{}, moment);
      { asked.retired() } -> std::same_as<uint64_t>;
      requires std::constructible_from<typename Sink::Run, Sink&>;
      run.Conditional(graph, id, node, unsigned{}, moment);
      run.Block(graph, id, node, BlockExit::kTaken, uint64_t{}, moment);
    };

template <class Sink>
concept TakesTimes = requires(Sink& sink, const TimeMark& mark) {
  sink.Mark(mark, bool{});
  { sink.WantsPacketEnd() } -> std::same_as<bool>;
  sink.PacketEnd(PacketEnding::kProven);
  sink.HoldBack(bool{});
  sink.LossBegins();
};

template <class Sink>
concept TakesPaths = requires(Sink& sink) {
  { sink.flow() } -> std::same_as<FlowDigest&>;
  { sink.uses() } -> std::same_as<PathUses&>;
};

template <class Sink>
concept CountsUses =
    requires(Sink& sink, PathMemo& memo, Path<TipTnt>& path) { sink.Use(memo, path); };

// Between BeginPaths at a node and EndPaths at another one the engine writes steps behind end(), as
// long as that is not behind Limit(). Where there is no room, which HasRoom says, it calls MakeRoom
// or takes a packet by itself.
template <class Sink>
concept ListsBlocks =
    requires(Sink& sink, BlockGraph& graph, uint32_t id, const Moment& moment, BlockStep* end) {
      sink.BeginPaths(graph, id, moment);
      { sink.end() } -> std::same_as<BlockStep*>;
      { sink.Limit() } -> std::same_as<BlockStep*>;
      sink.EndPaths(graph, id, end);
      { sink.HasRoom() } -> std::same_as<bool>;
      sink.MakeRoom();
    };

// Where lists of blocks are timed, CYC packets may come between paths: where TakesCyc says so, the
// engine announces some by BeginCycs, then passes each, with the path after it, to Cyc. It passes
// other paths to TellTimed.
template <class Sink>
concept TimesPaths =
    requires(Sink& sink, Clock::CycTerms terms, const BlockStep* begin, BlockLists::Lead lead) {
      { sink.TakesCyc() } -> std::same_as<bool>;
      sink.BeginCycs(terms);
      { sink.Cyc(uint64_t{}, begin, uint64_t{}, lead) } -> std::same_as<bool>;
      sink.TellTimed(begin, uint64_t{}, lead);
    };

template <class Sink>
concept TimesLeads = requires(Sink& sink) {
  sink.TellFlow();
  sink.TellLead(uint64_t{});
};

// What FlowEngine takes.
template <class Sink>
concept FlowSink =
    FittingFlags<Sink> && TakesBlocks<Sink> && (!Sink::kWantsTimes || TakesTimes<Sink>) &&
    (!Sink::kMemoises || TakesPaths<Sink>) && (!Sink::kCountsUses || CountsUses<Sink>) &&
    (!Sink::kTimesLeads || TimesLeads<Sink>) && (!Sink::kListsBlocks || ListsBlocks<Sink>) &&
    (!Sink::kListsBlocks || !Sink::kWantsTimes || TimesPaths<Sink>);

}  // namespace flowback::pt
