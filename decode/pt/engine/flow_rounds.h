// SPDX-License-Identifier: MIT
// FlowEngine, part 7: loops of direct jumps and calls, which write no packets.
//
//   f: push rax        An endless recursion, until the stack is full. The processor writes FUP with
//      call f          the address of the PUSH that failed, and TIP.PGD; it has written nothing
//                      since main called f. The number of rounds is unknown.
//
// So where an asynchronous end comes at an instruction to which the code leads back without a
// packet, the engine hands on the flow up to the first time that it comes there, and a loss without
// bytes: the number of rounds is not proven. flowback's own recorders count instructions and write
// an ExecutedCount before such an end; then the engine walks on until that number has executed.
#pragma once

#include <string>
#include <utility>

#include "decode/pt/engine/flow_engine.h"
#include "decode/pt/engine/loop_loss.h"

namespace flowback::pt {

// A count that comes where the flow is not known says nothing about it.
template <FlowSink Sink>
bool FlowEngine<Sink>::TakeCount(const ExecutedCount& count) {
  const bool plain = state_ == State::kOff || (state_ == State::kOn && !InCompound());
  if (!plain) {
    counted_ = {};
    return true;
  }
  bool proves = counted_.known && !count.begins;
  if (proves) {
    const int64_t missing = counted_.Missing(count, sink_.retired());
    const bool walks = state_ == State::kOn && missing > 0;
    proves = missing == 0 || (walks && WalkCounted(static_cast<uint64_t>(missing)));
    if (!proves) TellBreak(CountLoss(missing));
  }
  counted_ = {
      .known = true, .proves = proves, .count = count.instructions, .retired = sink_.retired()};
  return true;
}

// Walks `count` instructions of code that needs no packet. False, and nothing is walked: the code
// does not lead so far.
template <FlowSink Sink>
bool FlowEngine<Sink>::WalkCounted(uint64_t count) {
  if (count > counted_left_ || !CanWalk(*graph_, cur_, count)) return false;
  counted_left_ -= count;
  for (;;) {
    const Node& node = graph_->node(cur_);
    if (count < node.count) break;
    if (!NeedsNoPacket(node.kind)) return count == 0;
    count -= node.count;
    cur_ = StepOver(sink_, cur_);
  }
  if (count == 0) return true;
  sink_.Part(*graph_, cur_, static_cast<unsigned>(count), Now());
  Goto(graph_->info(cur_).AddressOf(static_cast<unsigned>(count)));
  return true;
}

// Tracing or the flow ends asynchronously before the instruction at hand.
template <FlowSink Sink>
void FlowEngine<Sink>::TellUnprovenRounds() {
  if (CountProvesPlace()) return;
  const BlockGraph::Round round = graph_->RoundFrom(cur_);
  if (round.instructions == 0) return;
  if (round.calls) calls_lost_ = true;
  TellBreak(RoundsLoss(round, CurrentAddress()));
}

// The stream ends while tracing is on. Behind the last packet nothing is proven; but what it is
// can be bounded only where the code comes to another one.
template <FlowSink Sink>
void FlowEngine<Sink>::TellUnprovenEnd() {
  if (state_ != State::kOn || graph_->Terminates(cur_)) return;
  packet_ = input_.bytes.data() + input_.bytes.size();
  TellBreak(EndlessEndLoss(CurrentAddress()));
}

// A loss without bytes, at the packet in work: the flow is known on both sides of it.
template <FlowSink Sink>
void FlowEngine<Sink>::TellBreak(DataLoss loss) {
  loss.begin = loss.end = Offset(packet_);
  loss.tsc = loss.end_tsc = clock_.tsc();
  loss.stay = sink_.stay();
  if (state_ == State::kOn) {
    loss.last_ip = CurrentAddress();
    loss.code = graph_->space().SectionOrReason(loss.last_ip);
  }
  if constexpr (Sink::kWantsTimes) sink_.LossBegins();
  sink_.Loss(loss);
}

}  // namespace flowback::pt
