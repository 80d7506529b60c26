// SPDX-License-Identifier: MIT
// The sink of those who want events and losses with their times, but no blocks. Of the blocks it
// tells the estimator only how many instructions they have: an event's time is estimated from its
// place among the instructions between two timing packets.
#pragma once

#include <cstdint>
#include <utility>

#include "decode/pt/sinks.h"
#include "decode/pt/time_estimator.h"

namespace flowback::pt {

// `kByMemo`: it takes whole paths at a time; else it goes branch by branch, so that tests can
// compare the two.
template <bool kByMemo>
class EventSink : public SinkDefaults<EventSink<kByMemo>> {
 public:
  static constexpr bool kMemoises = kByMemo;
  static constexpr bool kHearsPackets = kByMemo;
  static constexpr bool kWantsTimes = true;

  explicit EventSink(TimeEstimator& receiver) : receiver_(receiver) {}

  void Block(const BlockGraph&, uint32_t, const Node& node, BlockExit exit, uint64_t,
             const Moment&) {
    Count(node.count, TimeEstimator::TakesPacket(node.last, exit));
  }
  void Part(const BlockGraph&, uint32_t, unsigned count, const Moment&) { Count(count, false); }

  bool TakesPaths() const { return !receiver_.WantsPacketEnd(); }
  bool TakesSingles() const { return receiver_.TimesNext(); }
  FlowDigest& flow() { return flow_; }

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

 private:
  void Count(unsigned count, bool takes_packet) {
    if (count == 0) return;
    Tell();
    flow_.count = told_ += count;
    receiver_.OnInstructions(count, takes_packet);
  }
  // Passes on what the engine has added for paths since the last call.
  void Tell() {
    if (const uint64_t more = flow_.count - std::exchange(told_, flow_.count); more != 0)
      receiver_.OnInstructions(more, false);
  }

  TimeEstimator& receiver_;
  FlowDigest flow_;    // its count only
  uint64_t told_ = 0;  // of it, to the receiver
  bool done_ = false;
};

}  // namespace flowback::pt
