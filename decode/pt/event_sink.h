// SPDX-License-Identifier: MIT
// Hands on events and losses with their times. Of the blocks only the number of instructions
// matters, between which the times of events are estimated.
#pragma once

#include <cstdint>
#include <utility>

#include "decode/pt/sinks.h"
#include "decode/pt/time_estimator.h"

namespace flowback::pt {

// `kByMemo`: whole paths at a time; else branch by branch, for comparison.
template <bool kByMemo>
class EventSink {
 public:
  static constexpr bool kMemoises = kByMemo;
  static constexpr MemoContent kMemoContent = MemoContent::kUses;
  static constexpr bool kCountsUses = false;
  static constexpr bool kListsBlocks = false;
  static constexpr bool kHearsPackets = kByMemo;
  static constexpr bool kWantsAddresses = false;
  static constexpr bool kWantsTimes = true;

  explicit EventSink(TimeEstimator& receiver) : receiver_(receiver) {}

  void Block(const BlockGraph&, uint32_t, const Node& node, BlockExit exit, uint64_t,
             const Moment&) {
    Count(node.count, TimeEstimator::TakesPacket(node.last, exit));
  }
  void Part(const BlockGraph&, uint32_t, unsigned count, const Moment&) { Count(count, false); }

  class Run {
   public:
    explicit Run(EventSink& sink) : sink_(sink) {}
    void Conditional(const BlockGraph&, uint32_t, const Node& node, unsigned, const Moment&) {
      sink_.Count(node.count, true);
    }
    void Block(const BlockGraph& graph, uint32_t id, const Node& node, BlockExit exit,
               uint64_t next, const Moment& moment) {
      sink_.Block(graph, id, node, exit, next, moment);
    }

   private:
    EventSink& sink_;
  };

  // Whole paths: see BatchSink.
  bool TakesPaths() const { return !receiver_.WantsPacketEnd(); }
  bool TakesSingles() const { return receiver_.TimesNext(); }
  FlowDigest& flow() { return flow_; }
  void CountUses() {}
  void Fast(int64_t) {}
  void Slow(SlowPacket, uint64_t = 1) {}
  PathUses& uses() { return no_uses_; }

  void Event(const TraceEvent& event) {
    Tell();
    receiver_.OnEvent(event);
    done_ = receiver_.Done();
  }
  void LossBegins() {
    Tell();
    receiver_.OnLossBegin();
  }
  void Loss(const DataLoss& loss) {
    Tell();
    receiver_.OnLoss(loss);
    done_ = receiver_.Done();
  }
  void Mark(const TimeMark& mark, bool tracing) {
    Tell();
    receiver_.OnMark(mark, tracing);
  }
  bool WantsPacketEnd() const { return receiver_.WantsPacketEnd(); }
  void PacketEnd() {
    Tell();
    receiver_.OnPacketEnd();
  }
  bool Done() const { return done_; }
  uint64_t retired() const { return flow_.count; }
  void Enter(const ThreadStay* stay, const PartMark&) { stay_ = stay; }
  const ThreadStay* stay() const { return stay_; }

 private:
  void Count(unsigned count, bool takes_packet) {
    if (count == 0) return;
    Tell();
    flow_.count = told_ += count;
    receiver_.OnInstructions(count, takes_packet);
  }
  // What paths have counted.
  void Tell() {
    if (const uint64_t more = flow_.count - std::exchange(told_, flow_.count); more != 0)
      receiver_.OnInstructions(more, false);
  }

  TimeEstimator& receiver_;
  const ThreadStay* stay_ = nullptr;
  FlowDigest flow_;    // its count only
  uint64_t told_ = 0;  // of it, to the receiver
  PathUses no_uses_;
  bool done_ = false;
};

}  // namespace flowback::pt
