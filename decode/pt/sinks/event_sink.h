// SPDX-License-Identifier: MIT
// A sink that sums up as CountingSink does, and hands on events and losses with their times. It
// passes the estimator only the blocks' number of instructions: an event's time is estimated from
// its place among the instructions between two timing packets.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "decode/pt/sinks/forwarding_sink.h"
#include "decode/pt/sinks/sinks.h"
#include "decode/pt/time/time_estimator.h"

namespace flowback::pt {

// `kByMemo`: it takes whole paths at a time; else it goes branch by branch, so that tests can
// compare the two. `Base` counts.
template <bool kByMemo, class Base = CountingSink>
class EventSink : public ForwardingSink<EventSink<kByMemo, Base>, TimeEstimator, Base> {
 public:
  static constexpr bool kMemoises = kByMemo;
  static constexpr bool kCountsUses = kByMemo;
  static constexpr bool kHearsPackets = kByMemo;
  // Another sink hands the flow before and after it to the same receiver in full.
  static constexpr bool kLeavesGaps = !std::is_same_v<Base, CountingSink>;
  static constexpr bool kTimesLeads = kByMemo && !kLeavesGaps;

  explicit EventSink(TimeEstimator& receiver) : Forwarding(receiver) {}

  void Block(BlockGraph& graph, uint32_t id, const Node& node, BlockExit exit, uint64_t next,
             const Moment& moment) {
    TellFlow();
    Base::Block(graph, id, node, exit, next, moment);
    TellSome(TimeEstimator::TakesPacket(node.last, exit));
  }
  void Part(BlockGraph& graph, uint32_t id, unsigned count, const Moment& moment) {
    TellFlow();
    Base::Part(graph, id, count, moment);
    TellSome(false);
  }

  // The estimator hears of each block, so there is nothing to keep in registers.
  using Run = BlockByBlock<EventSink>;

  bool TakesPaths() const { return !receiver_.WantsPacketEnd(); }
  bool TakesSingles() const { return receiver_.TimesNext(); }

  void Event(const TraceEvent& event) {
    if constexpr (Base::kFollowsCalls) this->NoteEvent(event);
    Forwarding::Event(event);
  }
  // It is the sums', too.
  void Loss(const DataLoss& loss) {
    Base::Loss(loss);
    Forwarding::Loss(loss);
  }
  // Starts after the flow that the other sink handed on.
  void Begin(const FlowDigest& flow) {
    this->GoOnFrom(flow);
    told_ = flow.count;
    this->UpdateDone();
  }
  // The receiver knows of all.
  void End() { TellFlow(); }
  void Enter(const ThreadStay* stay, const PartMark& mark) {
    TellFlow();
    Base::Enter(stay, mark);
    told_ = this->flow().count;  // a new part may have begun
  }

  // Passes the estimator the instructions that paths have counted since the last call.
  void TellFlow() { TellSome(false); }
  // The first `count` of the instructions since then; a CYC times the last of them.
  void TellLead(uint64_t count) {
    told_ += count;
    receiver_.OnInstructions(count, true);
  }

 private:
  using Forwarding = ForwardingSink<EventSink, TimeEstimator, Base>;
  using Forwarding::receiver_;

  void TellSome(bool takes_packet) {
    const uint64_t count = this->flow().count;
    const uint64_t more = count - std::exchange(told_, count);
    if (more == 0) return;
    if constexpr (kLeavesGaps)
      receiver_.OnUntold(this->TakeBlocks(), more, takes_packet);
    else
      receiver_.OnInstructions(more, takes_packet);
  }

  uint64_t told_ = 0;  // of the part's instructions, to the receiver
};

}  // namespace flowback::pt
