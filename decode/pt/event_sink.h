// SPDX-License-Identifier: MIT
// A sink that sums up as CountingSink does, and hands on events and losses with their times. Of the
// blocks it tells the estimator only how many instructions they have: an event's time is estimated
// from its place among the instructions between two timing packets.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "decode/pt/sinks.h"
#include "decode/pt/time_estimator.h"

namespace flowback::pt {

// `kByMemo`: it takes whole paths at a time; else it goes branch by branch, so that tests can
// compare the two. `Base` counts.
template <bool kByMemo, class Base = CountingSink>
class EventSink : public Base {
 public:
  static constexpr bool kMemoises = kByMemo;
  static constexpr bool kCountsUses = kByMemo;
  static constexpr bool kHearsPackets = kByMemo;
  static constexpr bool kWantsTimes = true;
  // Another sink tells the flow before and behind in full, to the same receiver.
  static constexpr bool kLeavesGaps = !std::is_same_v<Base, CountingSink>;

  explicit EventSink(TimeEstimator& receiver) : receiver_(receiver) {}

  void Block(BlockGraph& graph, uint32_t id, const Node& node, BlockExit exit, uint64_t next,
             const Moment& moment) {
    Tell();
    Base::Block(graph, id, node, exit, next, moment);
    TellSome(TimeEstimator::TakesPacket(node.last, exit));
  }
  void Part(BlockGraph& graph, uint32_t id, unsigned count, const Moment& moment) {
    Tell();
    Base::Part(graph, id, count, moment);
    TellSome(false);
  }

  // The estimator hears of each block, so there is nothing to keep in registers.
  using Run = BlockByBlock<EventSink>;

  bool TakesPaths() const { return !receiver_.WantsPacketEnd(); }
  bool TakesSingles() const { return receiver_.TimesNext(); }

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
    Base::Loss(loss);
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
  void DeferredEnd() {
    Tell();
    receiver_.OnDeferredEnd();
  }
  void HoldBack(bool held) {
    Tell();
    receiver_.OnHeldBack(held);
  }
  void StatusEnd() {
    Tell();
    receiver_.OnStatusEnd();
  }
  bool Done() const { return done_; }
  // Behind what the other sink has told.
  void Begin(const FlowDigest& flow) {
    this->GoOnFrom(flow);
    told_ = flow.count;
    done_ = receiver_.Done();
  }
  // The receiver knows of all.
  void End() { Tell(); }
  void Enter(const ThreadStay* stay, const PartMark& mark) {
    Tell();
    Base::Enter(stay, mark);
    told_ = this->flow().count;  // a new part may have begun
  }

 private:
  // Tells the estimator of the instructions that paths have counted since it was told last.
  void Tell() { TellSome(false); }
  void TellSome(bool takes_packet) {
    const uint64_t count = this->flow().count;
    const uint64_t more = count - std::exchange(told_, count);
    if (more == 0) return;
    if constexpr (kLeavesGaps)
      receiver_.OnUntold(this->TakeBlocks(), more, takes_packet);
    else
      receiver_.OnInstructions(more, takes_packet);
  }

  TimeEstimator& receiver_;
  uint64_t told_ = 0;  // of the part's instructions, to the receiver
  bool done_ = false;
};

}  // namespace flowback::pt
