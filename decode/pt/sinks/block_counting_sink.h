// SPDX-License-Identifier: MIT
// Sums up as CountingSink does, and counts how often each block was executed. Taking a path costs
// the same as there, because its blocks are counted only when the path's uses are added up.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "decode/call_tracker.h"
#include "decode/flow/block_counter.h"
#include "decode/flow/block_marks.h"
#include "decode/pt/sinks/sinks.h"
#include "flowback/model/block_counts.h"

namespace flowback::pt {

// What a part of the flow executed.
struct PartCounts {
  const ThreadStay* stay = nullptr;
  std::vector<BlockCounts> counts;  // by code

  void Tell(BlockCountConsumer& consumer) const {
    for (const BlockCounts& of_code : counts) consumer.OnCounts(stay, of_code);
  }
};

// The same for who wants no more than which blocks were executed, and about how much in each. There
// are no sums: uses stay in the paths until CountUses.
class BlockUseSink : public CountingSink {
 public:
  static constexpr MemoContent kMemoContent = MemoContent::kUsesAndBlocks;
  static constexpr bool kSumsBlocks = true;
  static constexpr bool kKeepsUses = true;
  static constexpr bool kFollowsCalls = true;
  static constexpr bool kWantsAddresses = true;  // where returns lead

  BlockUseSink() { uses().marks = &marks_; }
  BlockUseSink(const BlockUseSink&) = delete;
  BlockUseSink& operator=(const BlockUseSink&) = delete;

  void Block(BlockGraph& graph, uint32_t id, const Node& node, BlockExit exit, uint64_t next,
             const Moment& moment) {
    AddOne(graph, id, WayOf(exit == BlockExit::kTaken || exit == BlockExit::kStopped));
    if (calls_) FollowBlock(graph, id, node, exit, next);
    CountingSink::Block(graph, id, node, exit, next, moment);
  }
  void Part(BlockGraph& graph, uint32_t id, unsigned count, const Moment& moment) {
    if (count == 0) return;
    AddOne(graph, id, step_way::kMiddle);
    if (calls_) calls_->Part(RunOf(graph, id, count));
    CountingSink::Part(graph, id, count, moment);
  }
  void Loss(const DataLoss&) {
    if (calls_) calls_->NoteUnusual();
  }
  // What the flow does to the call stack is followed from now on, too; with null, no longer.
  void FollowCalls(CallJudge* judge) {
    judge_ = judge;
    calls_.reset();
    if (judge != nullptr) calls_.emplace(*judge);
  }
  CallJudge* judge() const { return judge_; }
  CallTracker& calls() { return *calls_; }  // REQUIRES: FollowCalls
  void NoteEvent(const TraceEvent& event) {
    if (calls_) calls_->OnEvent(event);
  }
  void Enter(const ThreadStay* next, const PartMark& mark) {
    SinkDefaults<CountingSink>::Enter(next, mark);
  }
  void Restart(const PartMark&) {}
  void AddBlocks(uint64_t blocks) { blocks_ += blocks; }
  // Since it was asked last.
  uint64_t TakeBlocks() { return std::exchange(blocks_, 0); }
  flow::BlockMarks& marks() { return marks_; }

 private:
  void AddOne(BlockGraph& graph, uint32_t id, uint8_t way) {
    marks_.Use(graph);
    marks_.AddOne(id, way);
    ++blocks_;
  }
  void FollowBlock(BlockGraph& graph, uint32_t id, const Node& node, BlockExit exit,
                   uint64_t next) {
    if (exit == BlockExit::kStopped) {
      calls_->Part(RunOf(graph, id, node.count));
      return calls_->Stop(node.last, graph.info(id).end());
    }
    calls_->Step(graph.Table(), BlockStep::Of(id, exit == BlockExit::kTaken), next);
  }

  uint64_t blocks_ = 0;
  flow::BlockMarks marks_;
  CallJudge* judge_ = nullptr;
  std::optional<CallTracker> calls_;
};

class BlockCountingSink : public CountingSink {
 public:
  static constexpr MemoContent kMemoContent = MemoContent::kUsesAndBlocks;
  static constexpr bool kCountsBlocks = true;

  // The counts of each part go to the consumer when the part has ended. Without a consumer they are
  // kept for TakeCounts.
  explicit BlockCountingSink(BlockCountConsumer* consumer = nullptr) : consumer_(consumer) {
    uses().blocks = &counter_;
  }
  BlockCountingSink(const BlockCountingSink&) = delete;
  BlockCountingSink& operator=(const BlockCountingSink&) = delete;

  void Block(BlockGraph& graph, uint32_t id, const Node& node, BlockExit exit, uint64_t next,
             const Moment& moment) {
    counter_.Use(graph);
    if (exit == BlockExit::kStopped)
      counter_.AddOther(id, node.count, exit);
    else
      counter_.Add(BlockStep::Of(id, exit == BlockExit::kTaken), 1);
    const bool told = exit == BlockExit::kStopped ? HasTarget(node.last) : IsIndirect(node.last);
    if (told && next != 0) counter_.AddTarget(id, next, 1);
    CountingSink::Block(graph, id, node, exit, next, moment);
  }
  void Part(BlockGraph& graph, uint32_t id, unsigned count, const Moment& moment) {
    if (count == 0) return;
    counter_.Use(graph);
    counter_.AddOther(id, count, BlockExit::kFallThrough);
    CountingSink::Part(graph, id, count, moment);
  }

  using Run = BlockByBlock<BlockCountingSink>;

  void Enter(const ThreadStay* next, const PartMark& mark) {
    const ThreadStay* const ended = stay();
    CountingSink::Enter(next, mark);
    PartCounts part{ended, counter_.Take()};
    if (part.counts.empty()) return;
    if (consumer_ != nullptr)
      part.Tell(*consumer_);
    else
      counts_.push_back(std::move(part));
  }
  void Restart(const PartMark& mark) {
    CountingSink::Restart(mark);
    counter_.Clear();
    counts_.clear();
  }
  std::vector<PartCounts> TakeCounts() { return std::exchange(counts_, {}); }

 private:
  flow::BlockCounter counter_;
  BlockCountConsumer* const consumer_;
  std::vector<PartCounts> counts_;
};

}  // namespace flowback::pt
