// SPDX-License-Identifier: MIT
// FlowEngine, part 5: decoding a stream in segments that don't wait for each other.
//
// A PSB+ contains the whole state. So a segment may begin behind one, from the state that the PSB+
// alone gives, while the segment before is still being decoded. That is a guess: the flow before
// may say otherwise (an overflow that goes on, a mode that the PSB+ does not repeat, a
// contradiction). When the segment before has ended, its state is compared with the guess, in
// everything that can change what comes; if they differ, the segment is decoded again from the true
// state. So the result equals decoding in one go, for any segments.
#pragma once

#include "decode/pt/engine/flow_engine.h"

namespace flowback::pt {

template <FlowSink Sink>
void FlowEngine<Sink>::Begin() {
  account_.Restart(input_.from);
  EnterStays(input_.from);
  BeginPart(input_.from);
}

template <FlowSink Sink>
void FlowEngine<Sink>::BeginAtPsb(size_t psb) {
  end_ = input_.bytes.data() + parts_.EndFrom(input_, psb);
  EnterStays(psb);
  UseGraph();
  pos_ = input_.bytes.data() + psb;
  OnePacket();
  // What the PSB+ gave belongs to the segment before.
  account_.Restart(Offset(pos_));
  sink_.Restart(Mark(Offset(pos_)));
}

template <FlowSink Sink>
void FlowEngine<Sink>::Restore(const Carry& carry) {
  static_cast<FlowState&>(*this) = carry.state;
  account_.Restart();
  code_.Return(carry.place);
  UseGraph();
  LimitHotLoop(Offset(pos_));
  cur_ = 0;
  if (state_ == State::kOn) Goto(carry.ip);
  if (const ThreadStay* const stay = parts_.StayAtHand(input_)) sink_.Enter(stay, {});
  sink_.Restart(Mark(Offset(pos_)));
  counted_.retired += sink_.retired();
}

// As RunTo, but never takes a packet behind the one at `stop`, even if the memos know more.
template <FlowSink Sink>
void FlowEngine<Sink>::RunJustTo(size_t stop) {
  if constexpr (!Sink::kKeepsUses) memo_ = nullptr;  // other engines have used the memos since
  stop_ = input_.bytes.data() + stop;
  if (pos_ != nullptr) LimitHotLoop(Offset(pos_));
  RunTo(stop);
}

// The account of the segment; what has been lost so far, too, where a loss goes on.
template <FlowSink Sink>
ByteAccount FlowEngine<Sink>::EndSegment() {
  if (!account_.losing()) account_.CountDecoded(Offset(pos_));
  sink_.Enter(sink_.stay(), Mark(Offset(pos_)));
  return account_.bytes();
}

template <FlowSink Sink>
typename FlowEngine<Sink>::Carry FlowEngine<Sink>::Save() const {
  Carry carry{*this, state_ == State::kOn ? CurrentAddress() : 0, code_.place()};
  ForgetNodes(carry.state);
  carry.state.graph_ = nullptr;
  carry.state.counted_.retired -= sink_.retired();  // another sink may have counted from elsewhere
  return carry;
}

// Returns whether two engines over the same stream produce identical counts from here on. May
// return false although they would. The interrupt flag's value matters to events alone.
template <class Carry>
bool SameFromHere(const Carry& one, const Carry& other) {
  const auto simple = [](const FlowState& s) {
    return s.held_.empty() && s.compound_.empty() && !s.account_.losing() && s.returns_.empty() &&
           s.pebs_.item_bytes == 0;
  };
  const FlowState& a = one.state;
  const FlowState& b = other.state;
  return simple(a) && simple(b) && a.pos_ == b.pos_ && a.state_ == b.state_ && one.ip == other.ip &&
         one.place == other.place && a.parts_ == b.parts_ && a.last_ip_ == b.last_ip_ &&
         a.clock_.TellsTheSame(b.clock_) && a.calls_lost_ == b.calls_lost_ &&
         a.counted_.known == b.counted_.known && a.held_.deferred() == b.held_.deferred() &&
         a.mode_.code() == b.mode_.code() && a.in_transaction_ == b.in_transaction_ &&
         a.program_ == b.program_ && a.loss_state_.SameOverflow(b.loss_state_);
}

}  // namespace flowback::pt
