// SPDX-License-Identifier: MIT
// The common part of sinks that hand on the flow: to an ExecutionConsumer, a BatchWriter, or a
// TimeEstimator that stands before one.
//
// A sink holds flow back that it has not handed on yet: steps of a batch, instructions that are
// only counted. Any other element lies behind that flow, so the flow is handed on first, by
// TellFlow. A TimeEstimator also gets the facts about times: marks of the clock, and how packets
// end.
#pragma once

#include <type_traits>

#include "decode/pt/sinks/flow_sink.h"
#include "decode/pt/time/clock.h"
#include "decode/pt/time/packet_ending.h"
#include "decode/pt/time/time_estimator.h"
#include "flowback/model/execution.h"

namespace flowback::pt {

// `Base` is SinkDefaults<Sink>, or has it among its own bases.
template <class Sink, class Receiver, class Base = SinkDefaults<Sink>>
class ForwardingSink : public Base {
 public:
  static constexpr bool kWantsTimes = std::is_same_v<Receiver, TimeEstimator>;

  // The receiver wants no more, and gets no more.
  bool Done() const { return done_; }

  void Event(const TraceEvent& event) {
    sink().TellFlow();
    if (done_) return;
    receiver_.OnEvent(event);
    UpdateDone();
  }
  void Loss(const DataLoss& loss) {
    sink().TellFlow();
    if (done_) return;
    receiver_.OnLoss(loss);
    UpdateDone();
  }

  // ---- times ----

  void LossBegins()
    requires kWantsTimes
  {
    sink().TellFlow();
    receiver_.OnLossBegin();
    UpdateDone();
  }
  void Mark(const TimeMark& mark, bool tracing)
    requires kWantsTimes
  {
    sink().TellFlow();
    receiver_.OnMark(mark, tracing);
    UpdateDone();
  }
  bool WantsPacketEnd() const
    requires kWantsTimes
  {
    return receiver_.WantsPacketEnd();
  }
  // Mostly it changes nothing, and then no flow need be handed on for it.
  void PacketEnd(PacketEnding ending)
    requires kWantsTimes
  {
    if (!receiver_.Wants(ending)) return;
    sink().TellFlow();
    receiver_.OnPacketEnd(ending);
    UpdateDone();
  }
  void HoldBack(bool held)
    requires kWantsTimes
  {
    sink().TellFlow();
    receiver_.OnHeldBack(held);
    UpdateDone();
  }

 protected:
  explicit ForwardingSink(Receiver& receiver) : receiver_(receiver) {}

  void UpdateDone() { done_ = receiver_.Done(); }

  Receiver& receiver_;
  bool done_ = false;

 private:
  Sink& sink() { return static_cast<Sink&>(*this); }
};

}  // namespace flowback::pt
