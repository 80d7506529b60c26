// SPDX-License-Identifier: MIT
// FlowEngine, part 3: what each packet means.
#pragma once

#include "decode/pt/engine/flow_engine.h"

namespace flowback::pt {

template <FlowSink Sink>
bool FlowEngine<Sink>::OnTnt(uint64_t bits, unsigned count) {
  if (state_ == State::kLost) {
    loss_state_.OnLostTnt();
    if (!MayResume()) SyncForward(Offset(pos_));
    return true;
  }
  if (state_ == State::kOff) return Mismatch("TNT");
  if (compound_.in_transfer()) return Mismatch("FUP without a TIP");
  if (!held_.empty()) return MismatchAtBranch("TNT where a TIP is due");
  return WalkTnt(bits, count);
}

template <FlowSink Sink>
bool FlowEngine<Sink>::On(const Tip& packet) {
  const std::optional<uint64_t> ip = PlaceOf(packet.ip);
  if (state_ == State::kLost) {
    if (MayResume())
      ResumeAtTip(ip);
    else
      SyncForward(Offset(pos_));
    return true;
  }
  if (state_ == State::kOff) return Mismatch("TIP");
  if (!compound_.in_transfer()) return ip ? TakeTip(*ip) : TipWithoutIp();
  if (!ip) return Mismatch("TIP without an IP");
  if (!FinishTransfer(ip, false)) return false;
  ApplyMode(ip);
  Goto(*ip);
  return true;
}

// While the flow is lost. After a FUP a TIP has the target of a transfer, else of a branch: either
// way execution is there now. But where TIPs may be deferred, bits of a TNT before might belong
// behind it.
template <FlowSink Sink>
void FlowEngine<Sink>::ResumeAtTip(std::optional<uint64_t> ip) {
  PassMode();
  if (!ip || (loss_state_.tnt_lost() && MayBeLate())) return;
  SelectCode();
  if (graph_->node(graph_->NodeAt(*ip)).count == 0) return;
  ClearCompound();
  HoldBack(MayBeLate());
  Resume(*ip);
  HoldBack(false);
}

template <FlowSink Sink>
bool FlowEngine<Sink>::On(const TipPge& packet) {
  const std::optional<uint64_t> ip = PlaceOf(packet.ip);
  if (state_ == State::kOn) return Mismatch("TIP.PGE while tracing is on");
  loss_state_.OnTipsSentOff();
  if (!ip && last_ip_.in_doubt()) {
    PassMode();
    return true;
  }
  if (!ip) return Mismatch("TIP.PGE without an IP");
  compound_.Clear();
  if (state_ == State::kLost) Regain();
  program_.Start(*ip);
  SelectCode();
  ApplyMode(ip);
  state_ = State::kOn;
  Goto(*ip);
  TraceEvent event = Event(EventKind::kStarted);
  event.ip = *ip;
  event.has_ip = true;
  Notify(event);
  return true;
}

template <FlowSink Sink>
bool FlowEngine<Sink>::On(const TipPgd& packet) {
  clock_.OnPause();
  const std::optional<uint64_t> ip = last_ip_.Apply(packet.ip);
  if (state_ == State::kLost) {
    if (!MayResume() && !(loss_state_.overflowed() && errata_.overflow_extra_pgd)) {
      SyncForward(Offset(pos_));
      return true;
    }
    loss_state_.OnTipsSentOff();
    PassMode();
    ClearCompound();
    // Otherwise the place where tracing begins again would be unknown.
    if (last_ip_.in_doubt()) return true;
    Regain();
    state_ = State::kOff;
    return true;
  }
  if (state_ == State::kOff) return Mismatch("TIP.PGD");
  if (compound_.in_transfer()) {
    if (!FinishTransfer(ip, true)) return false;
    StopProgram(CurrentAddress());
  } else {
    StopProgram(std::nullopt);
    if (!WalkToStop(ip)) return false;
    TraceEvent event = Event(EventKind::kStopped);
    event.target = ip.value_or(0);
    Notify(event);
  }
  state_ = State::kOff;
  cur_ = 0;
  ApplyMode(ip);
  ClearCompound();
  return true;
}

template <FlowSink Sink>
bool FlowEngine<Sink>::On(const Fup& packet) {
  const std::optional<uint64_t> ip = PlaceOf(packet.ip);
  if (!ip && state_ != State::kLost) return Mismatch("FUP without an IP");
  if (state_ == State::kLost) {
    const bool resolves = loss_state_.fup_resolves();
    if (resolves && errata_.overflow_false_fup && ahead_.ShowsThatTracingIsOff(From(pos_)))
      return true;
    if (ip && !resolves && !MayResume()) {
      SyncForward(Offset(pos_));
      return true;
    }
    loss_state_.OnTipsSentOff();
    if (!ip) {
      PassWaiting();
      return true;
    }
    const bool tells_place = compound_.FupTellsPlace([this] { return FollowedByTip(); });
    if (!resolves && !tells_place) return BindWaiting(*ip);
    Resume(*ip);
    if (resolves) return true;
  } else if (loss_state_.fup_resolves() && !FollowedByTip()) {
    // A PSB+ came first; this is the overflow's own FUP.
    if (state_ == State::kOn) return WalkTo(*ip);
    Resume(*ip);
    return true;
  }
  if (!held_.empty()) return MismatchAtBranch("FUP where a TIP is due");
  if (compound_.in_transfer()) return Mismatch("a second FUP before the TIP");
  if (state_ == State::kOff && !compound_.awaits_fup()) return Mismatch("FUP");
  return BindFup(*ip);
}

template <FlowSink Sink>
bool FlowEngine<Sink>::On(const ModeExec& packet) {
  compound_.SetMode(packet);
  return true;
}

template <FlowSink Sink>
bool FlowEngine<Sink>::On(const ModeTsx& packet) {
  TraceEvent event = Event(packet.aborted          ? EventKind::kTransactionAbort
                           : packet.in_transaction ? EventKind::kTransactionBegin
                                                   : EventKind::kTransactionCommit);
  if (state_ == State::kOff) {
    in_transaction_ = packet.in_transaction;
    Notify(event);
    return true;
  }
  compound_.Wait({.event = event,
                  .takes_fup = !packet.aborted,
                  .abort = packet.aborted,
                  .transaction = true,
                  .in_transaction = packet.in_transaction});
  return true;
}

// Reports the packet as an event, whatever packet follows.
template <FlowSink Sink>
template <class P>
void FlowEngine<Sink>::Announce(const P& packet) {
  Notify(HappensNow(EventOf(packet).event));
}

// A packet that is an event and nothing more.
template <FlowSink Sink>
template <class P>
bool FlowEngine<Sink>::On(const P& packet) {
  PacketEvent told = EventOf(packet);
  told.event = HappensNow(told.event);
  if (told.waits)
    compound_.Wait(told.Waiting());
  else
    Notify(told.event);
  return true;
}

template <FlowSink Sink>
bool FlowEngine<Sink>::On(const Pip& packet) {
  program_.Allow();
  if (Plain() && !FollowedByTip()) WalkPastFlag(kFlagMovCr3);
  Announce(packet);
  return true;
}

template <FlowSink Sink>
bool FlowEngine<Sink>::On(const Vmcs& packet) {
  if (Plain() && !FollowedByTip()) WalkPastFlag(kFlagVmPtrld);
  Announce(packet);
  return true;
}

template <FlowSink Sink>
bool FlowEngine<Sink>::On(const Tsc& packet) {
  // Outside PSB+ it comes because clocks had stopped.  [SDM "Timestamp Counter (TSC) Packet"]
  if (state_ != State::kOn || Tsc::kOpcode.Matches(*packet_)) clock_.OnPause();
  clock_.On(packet);
  Told(TimeMark::Kind::kTsc);
  return true;
}

template <FlowSink Sink>
bool FlowEngine<Sink>::On(const Tma& packet) {
  clock_.On(packet);
  return true;
}

template <FlowSink Sink>
bool FlowEngine<Sink>::On(const Mtc& packet) {
  if (clock_.On(packet)) Told(TimeMark::Kind::kMtc);
  if (state_ != State::kOn) clock_.OnPause();
  return true;
}

template <FlowSink Sink>
bool FlowEngine<Sink>::On(const Cyc& packet) {
  clock_.On(packet);
  Told(TimeMark::Kind::kCyc);
  return true;
}

template <FlowSink Sink>
bool FlowEngine<Sink>::On(const Cbr& packet) {
  clock_.On(packet);
  Announce(packet);
  return true;
}

template <FlowSink Sink>
bool FlowEngine<Sink>::On(const Mnt& packet) {
  const std::optional<ExecutedCount> count = ExecutedCount::Of(packet);
  return count ? TakeCount(*count) : On<Mnt>(packet);
}

template <FlowSink Sink>
bool FlowEngine<Sink>::On(const Ovf&) {
  clock_.OnGap();
  ClearCompound();
  PassMode();
  returns_.Clear();
  in_transaction_ = false;
  EndLoss(Offset(packet_));  // of another cause, if there is one
  BeginLoss(LossCause::kOverflow, Offset(packet_), {});
  loss_state_.OnOverflow();
  return true;
}

template <FlowSink Sink>
bool FlowEngine<Sink>::On(const TraceStop& packet) {
  if (state_ == State::kOn) return Mismatch("TRACESTOP while tracing is on");
  Announce(packet);
  return true;
}

template <FlowSink Sink>
bool FlowEngine<Sink>::On(const Ptw& packet) {
  if (!packet.ip && state_ == State::kOn) return WalkPastPtwrite(HappensNow(EventOf(packet).event));
  return On<Ptw>(packet);
}

template <FlowSink Sink>
bool FlowEngine<Sink>::On(const ExStop& packet) {
  clock_.OnGap();
  return On<ExStop>(packet);
}

// Its FUP comes only while tracing is on.
template <FlowSink Sink>
bool FlowEngine<Sink>::On(const Mwait& packet) {
  if (state_ != State::kOff) return On<Mwait>(packet);
  Announce(packet);
  return true;
}

}  // namespace flowback::pt
