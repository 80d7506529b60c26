// SPDX-License-Identifier: MIT
// FlowEngine, part 2: which packet a FUP's address belongs to, and the changes of state that take
// several packets (packet_compound.h).
#pragma once

#include "decode/pt/engine/flow_engine.h"

namespace flowback::pt {

template <FlowSink Sink>
[[gnu::always_inline]] inline TraceEvent FlowEngine<Sink>::Event(EventKind kind) const {
  TraceEvent event;
  event.kind = kind;
  return HappensNow(event);
}

// With the place and time of the packet in work.
template <FlowSink Sink>
[[gnu::always_inline]] inline TraceEvent FlowEngine<Sink>::HappensNow(TraceEvent event) const {
  event.offset = Offset(packet_);
  event.tsc = clock_.tsc();
  return event;
}

template <FlowSink Sink>
void FlowEngine<Sink>::Notify(TraceEvent event) {
  event.stay = sink_.stay();
  sink_.Event(event);
}

template <FlowSink Sink>
void FlowEngine<Sink>::ClearCompound() {
  compound_.Clear();
  DropHeldBits();
}

// While the flow is lost, at a FUP whose address is not known: the state in the packets that waited
// for it holds, but its place is unknown.
template <FlowSink Sink>
void FlowEngine<Sink>::PassWaiting() {
  for (const PacketCompound::Waiting& w : compound_.TakeWaiting())
    if (w.transaction) in_transaction_ = w.in_transaction;
}

// A MODE.Exec holds from the packet on that it waits for. This is for where that packet has come
// but no instruction is known that would be the first in the new mode.
template <FlowSink Sink>
void FlowEngine<Sink>::PassMode() {
  if (const std::optional<ModeExec> mode = compound_.TakeMode()) mode_.Take(*mode);
}

// The packet's address. While the flow is lost, an address where the mode can't have code is none:
// it was completed from a false last IP, or the mode is false.  [SDM "IP Compression"]
template <FlowSink Sink>
std::optional<uint64_t> FlowEngine<Sink>::PlaceOf(const IpPayload& payload) {
  const std::optional<uint64_t> ip = last_ip_.Apply(payload);
  if (state_ != State::kLost || !ip) return ip;
  const CodeMode mode = compound_.mode() ? compound_.mode()->Mode() : mode_.code();
  if ((*ip & ~TraitsOf(mode).address_mask) == 0) return ip;
  last_ip_.Doubt();
  return std::nullopt;
}

// Looks up the code that is mapped at this time, in the current mode. Node numbers from before mean
// nothing afterwards.
template <FlowSink Sink>
void FlowEngine<Sink>::SelectCode() {
  const uint64_t tsc = clock_.tsc();
  const TimeConversion& time = input_.time;
  const std::optional<uint64_t> before = code_.NextProgram();
  code_.Advance(time.known() && tsc != 0 ? time.ToNanoseconds(tsc) : 0, sink_.retired(),
                program_.possible());
  if (code_.NextProgram() != before) program_.Forget();
  KeepProgram();
  UseGraph();
}

// Where no program is to come there is nothing to know. Then the state is always the same, so that
// engines that began at different places can be compared.
template <FlowSink Sink>
void FlowEngine<Sink>::KeepProgram() {
  if (!code_.NextProgram()) program_ = {};
}

// Tracing stops; the program goes on at `next` unless it is another one by then.
template <FlowSink Sink>
void FlowEngine<Sink>::StopProgram(std::optional<uint64_t> next) {
  program_.Stop(next);
  KeepProgram();
}

// At a PSB+ with a TSC, which needs no earlier packet: a program whose time has not come by then
// does not run yet, and one whose time has come may.
template <FlowSink Sink>
void FlowEngine<Sink>::CheckProgram() {
  const std::optional<uint64_t> next = code_.NextProgram();
  if (!next || !input_.time.known()) return;
  if (input_.time.ToNanoseconds(clock_.tsc()) < *next)
    program_.Forget();
  else
    program_.Allow();
}

template <FlowSink Sink>
void FlowEngine<Sink>::UseGraph() {
  BlockGraph* graph = &code_.Graph(mode_.code());
  if (graph != graph_) ForgetNodes(*this);
  graph_ = graph;
}

template <FlowSink Sink>
void FlowEngine<Sink>::SetMode(const ModeExec& packet, std::optional<uint64_t> ip) {
  TraceEvent event = Event(EventKind::kExecMode);
  event.ip = ip.value_or(0);
  event.has_ip = ip.has_value();
  const ExecutionMode::Change change = mode_.Take(packet);
  if (change.code) {
    event.value = static_cast<uint64_t>(packet.Mode());
    event.extra = (packet.iflag ? 1 : 0) | (packet.cs_l ? 0x100 : 0) | (packet.cs_d ? 0x200 : 0);
    const uint64_t here = CurrentAddress();
    UseGraph();
    if (state_ == State::kOn) Goto(here);
    Notify(event);
  }
  if (change.interrupt_flag) {
    event.kind = EventKind::kInterruptFlag;
    event.value = packet.iflag ? 1 : 0;
    event.extra = 0;
    Notify(event);
  }
}

// A MODE.Exec takes effect at the packet it binds to.
template <FlowSink Sink>
void FlowEngine<Sink>::ApplyMode(std::optional<uint64_t> ip) {
  if (const std::optional<ModeExec> mode = compound_.TakeMode()) SetMode(*mode, ip);
}

template <FlowSink Sink>
bool FlowEngine<Sink>::Mismatch(const char* what) {
  std::string detail = what;
  if (state_ == State::kOn) detail += ", next instruction at " + Hex(CurrentAddress());
  if (state_ == State::kOff) detail += ", tracing is off";
  return Fail(LossCause::kFlowMismatch, std::move(detail));
}

// Gives the FUP's address to the packets that waited for it. An interrupt may name a place that the
// current code does not lead to. Its event is handed on after the interrupt's TIP and the flow
// before it.
template <FlowSink Sink>
bool FlowEngine<Sink>::BindWaiting(uint64_t ip) {
  for (PacketCompound::Waiting& w : compound_.TakeWaiting()) {
    w.event.ip = ip;
    w.event.has_ip = true;
    const bool on = state_ == State::kOn;
    const bool walks = on && (w.must_reach || Reaches(ip));
    if (on && !walks && compound_.in_transfer()) {
      compound_.TellWithTransfer(w.event);
      continue;
    }
    if (walks) {
      if (w.abort && errata_.abort_branch && !Reaches(ip)) Goto(ip);  // the branch before lied
      if (!WalkTo(ip)) return false;
    }
    if (w.transaction) in_transaction_ = w.in_transaction;
    if (!w.abort) Notify(w.event);
    const bool at_ptwrite = w.event.kind == EventKind::kPtwrite && state_ == State::kOn &&
                            CurrentAddress() == ip && graph_->node(cur_).count == 1 &&
                            (graph_->info(cur_).block->last.flags & kFlagPtwrite) != 0;
    if (at_ptwrite) cur_ = StepOver(sink_, cur_);
  }
  return true;
}

template <FlowSink Sink>
bool FlowEngine<Sink>::BindFup(uint64_t ip) {
  const PacketCompound::FupUse use = compound_.UseOfFup([this] { return FollowedByTip(); });
  if (use.binds_mode) {
    if (state_ == State::kOn && !WalkTo(ip)) return false;
    ApplyMode(ip);
  }
  if (use.begins_transfer) compound_.BeginTransfer({.from = ip, .aborts = use.aborts});
  return BindWaiting(ip);
}

template <FlowSink Sink>
bool FlowEngine<Sink>::AtVmEntry() const {
  const NodeInfo& info = graph_->info(cur_);
  return info.block->count == 1 && (info.block->last.flags & kFlagVmEntry) != 0;
}

// The TIP or TIP.PGD after the FUP of an asynchronous transfer.
template <FlowSink Sink>
bool FlowEngine<Sink>::FinishTransfer(std::optional<uint64_t> target, bool stops) {
  const auto [from, aborts, events] = compound_.EndTransfer();
  const bool reached = WalkTo(from);
  for (const TraceEvent& told : events) Notify(told);
  if (!reached) return false;
  TellUnprovenRounds();
  if (stops && errata_.vm_entry_fup && AtVmEntry()) {
    Emit(cur_, BlockExit::kStopped, target.value_or(0));
    Notify(Event(EventKind::kStopped));
    return true;
  }
  TraceEvent event = Event(aborts  ? EventKind::kTransactionAbort
                           : stops ? EventKind::kStoppedAsync
                                   : EventKind::kInterrupted);
  event.ip = from;
  event.has_ip = true;
  event.target = target.value_or(0);
  Notify(event);
  if (aborts && stops) {
    event.kind = EventKind::kStoppedAsync;
    Notify(event);
  }
  return true;
}

// A PIP or VMCS packet belongs to the next instruction with `flag`, which has executed then, if
// branch-free code leads to one; else to a transfer whose TIP follows.
template <FlowSink Sink>
void FlowEngine<Sink>::WalkPastFlag(uint8_t flag) {
  if (!flag_search_.Finds(*graph_, cur_, flag)) return;
  for (bool passed = false; !passed;) {
    passed = graph_->Binds(cur_, flag);
    cur_ = StepOver(sink_, cur_);
  }
}

}  // namespace flowback::pt
