// SPDX-License-Identifier: MIT
// FlowEngine, part 1: walking code, from one block to the next, as far as a packet proves.
#pragma once

#include "decode/pt/engine/flow_engine.h"

namespace flowback::pt {

template <FlowSink Sink>
[[gnu::always_inline]] inline void FlowEngine<Sink>::Emit(uint32_t id, BlockExit exit,
                                                          uint64_t next) {
  sink_.Block(*graph_, id, graph_->node(id), exit, next, Now());
}

template <FlowSink Sink>
inline uint32_t FlowEngine<Sink>::Successor(uint32_t id, unsigned direction) {
  const uint32_t next = graph_->node(id).next[direction];
  return next != 0 ? next : graph_->Resolve(id, direction);
}

template <FlowSink Sink>
inline uint32_t FlowEngine<Sink>::ReturnTo(const ReturnStack::Entry& entry) {
  return entry.call != 0 ? Successor(entry.call, 0) : graph_->NodeAt(entry.address);
}

template <FlowSink Sink>
void FlowEngine<Sink>::Goto(uint64_t ip) {
  cur_ = graph_->NodeAt(ip);
}

// No code is known at cur_. The trace's clock may lag behind the times of the kernel's mappings, so
// the engine already uses a mapping that comes a little later. False: no mapping comes.
template <FlowSink Sink>
bool FlowEngine<Sink>::NoCode() {
  const uint64_t ip = CurrentAddress();
  if (graph_->node(cur_).kind == NodeKind::kBadInstruction)
    return Fail(LossCause::kBadInstruction, "no instruction at " + Hex(ip));
  if (!code_.AdvanceFor(ip)) {
    if (const CodeMapping* mapping = graph_->space().Find(ip); mapping != nullptr)
      return Fail(LossCause::kNoImage, "the instruction at " + Hex(ip) + " goes past the end of " +
                                           mapping->section->name());
    const std::string* why = graph_->space().WhyNothing(ip);
    return Fail(LossCause::kNoImage, "no code at " + Hex(ip) + (why == nullptr ? "" : ": " + *why));
  }
  UseGraph();
  Goto(ip);
  return true;
}

// Executes block `cur`, which needs no packet, and returns the block after it.
template <FlowSink Sink>
template <class Output>
inline uint32_t FlowEngine<Sink>::StepOver(Output& output, uint32_t cur) {
  const Node& node = graph_->node(cur);
  if (node.kind == NodeKind::kCall && node.pushes) returns_.Push(cur);
  uint64_t next = 0;
  if constexpr (Sink::kWantsAddresses) next = graph_->SuccessorAddress(cur, 1);
  output.Block(*graph_, cur, node,
               IsDirect(node.last) ? BlockExit::kTaken : BlockExit::kFallThrough, next, Now());
  return Successor(cur, 1);
}

// Walks along `count` branch outcomes, the oldest in the highest bit. When the walk comes to an
// indirect branch, the outcomes that are left wait for its TIP.
template <FlowSink Sink>
bool FlowEngine<Sink>::WalkTnt(uint64_t bits, unsigned count) {
  for (;;) {
    NodeKind stop;
    {
      typename Sink::Run run(sink_);
      stop = RunTnt(run, cur_, bits, count);
    }
    if (stop == NodeKind::kConditional) return true;
    if (stop == NodeKind::kGoto) return Runaway();
    if (stop == NodeKind::kReturn && compressed_returns_)
      return BadReturn((bits >> (count - 1) & 1) != 0);
    if (!HasNoCode(stop)) {
      held_.Hold(bits, count);
      return true;
    }
    if (!NoCode()) return false;
  }
}

template <FlowSink Sink>
bool FlowEngine<Sink>::Runaway() {
  return Fail(LossCause::kRunaway, "from " + Hex(CurrentAddress()));
}

// The packet can't be right at the branch that ends this block. The instructions before the branch
// have executed all the same.
template <FlowSink Sink>
bool FlowEngine<Sink>::MismatchAtBranch(const char* what) {
  ComeToBranch();
  return Mismatch(what);
}

template <FlowSink Sink>
void FlowEngine<Sink>::ComeToBranch() {
  const unsigned count = graph_->node(cur_).count;
  if (count <= 1) return;  // 0: since a state was kept that is gone on from, the code went away
  sink_.Part(*graph_, cur_, count - 1, Now());
  Goto(graph_->info(cur_).LastAddress());
}

// The TIP for which the held bits wait won't come.
template <FlowSink Sink>
void FlowEngine<Sink>::DropHeldBits() {
  if (held_.empty()) return;
  if (state_ == State::kOn) ComeToBranch();
  loss_state_.OnLostTnt();
  held_.Drop();
}

template <FlowSink Sink>
bool FlowEngine<Sink>::BadReturn(bool taken) {
  ComeToBranch();
  const std::string at = Hex(CurrentAddress());
  if (taken && calls_lost_)
    return Fail(LossCause::kReturnAcrossLoss,
                "the return at " + at + " is compressed; its call lies in or before a loss");
  return Fail(LossCause::kReturnMismatch,
              taken ? "the return at " + at + " is compressed, but its call is not known"
                    : "not-taken bit at the return at " + at);
}

template <FlowSink Sink>
bool FlowEngine<Sink>::WalkHeldBits() {
  if (held_.empty()) return true;
  const auto [bits, count] = held_.Take();
  if (WalkTnt(bits, count)) return true;
  loss_state_.OnLostTnt();
  return false;
}

// Passes the block that it stands at if that needs no packet, on the way to one that does or to
// what `is_goal` says yes to. `leads` remembers that the way leads there; it begins as false.
template <FlowSink Sink>
template <class Predicate>
typename FlowEngine<Sink>::Passed FlowEngine<Sink>::PassBlock(Predicate is_goal, bool& leads) {
  const NodeKind kind = graph_->node(cur_).kind;
  if (NeedsNoPacket(kind)) {
    if (!leads && !(leads = graph_->EndsOrMeets(cur_, is_goal))) {
      Runaway();
      return Passed::kFailed;
    }
    cur_ = StepOver(sink_, cur_);
    return Passed::kYes;
  }
  if (!HasNoCode(kind)) return Passed::kNeedsPacket;
  leads = false;
  return NoCode() ? Passed::kYes : Passed::kFailed;
}

// Walks on to the next block whose end needs a packet.
template <FlowSink Sink>
bool FlowEngine<Sink>::WalkToConsumer() {
  for (;;) {
    const Node& node = graph_->node(cur_);
    if (NeedsNoPacket(node.kind)) {
      if (!node.terminates && !graph_->Terminates(cur_)) return Runaway();
      cur_ = StepOver(sink_, cur_);
    } else if (!HasNoCode(node.kind)) {
      return true;
    } else if (!NoCode()) {
      return false;
    }
  }
}

template <FlowSink Sink>
bool FlowEngine<Sink>::TipWithoutIp() {
  return WalkToConsumer() && MismatchAtBranch("TIP without an IP");
}

// Takes a TIP with the target of a branch; it is not part of an asynchronous transfer.
template <FlowSink Sink>
bool FlowEngine<Sink>::TakeTip(uint64_t ip) {
  if (!WalkToConsumer()) return false;
  const Node& node = graph_->node(cur_);
  if (node.kind == NodeKind::kConditional) return MismatchAtBranch("TIP at a conditional branch");
  if (node.kind == NodeKind::kReturn) returns_.PopIfAny();
  if (node.pushes) returns_.Push(cur_);
  Emit(cur_, BlockExit::kTaken, ip);
  const uint32_t from = cur_;
  const BlockGraph* graph = graph_;
  ApplyMode(ip);
  if (graph_ != graph) {
    Goto(ip);
  } else if (const uint32_t predicted = graph_->node(from).next[1];
             predicted != 0 && graph_->info(predicted).address == ip) {
    cur_ = predicted;
  } else {
    Goto(ip);
    graph_->nodes()[from].next[1] = cur_;  // prediction: the same target again
  }
  return WalkHeldBits();
}

// Walks code that needs no packet, up to the instruction at `ip`, which is not executed yet.
template <FlowSink Sink>
bool FlowEngine<Sink>::WalkTo(uint64_t ip) {
  if (!held_.empty()) return MismatchAtBranch("FUP where a TIP is due");
  const auto is_there = [&](uint32_t id) { return graph_->info(id).HasInstruction(ip); };
  for (bool leads = false;;) {
    if (CurrentAddress() == ip) return true;
    if (const unsigned before = graph_->info(cur_).InstructionsBefore(ip); before != 0) {
      sink_.Part(*graph_, cur_, before, Now());
      Goto(ip);
      return true;
    }
    const Passed passed = PassBlock(is_there, leads);
    if (passed == Passed::kFailed) return false;
    if (passed == Passed::kNeedsPacket)
      return MismatchAtBranch(("a branch lies before the FUP address " + Hex(ip)).c_str());
  }
}

// For packets that only inform of `ip`. When it is not found the engine stays where it is, and the
// next such packet looks again, so this must not look far.
template <FlowSink Sink>
bool FlowEngine<Sink>::Reaches(uint64_t ip) {
  constexpr unsigned kMostBlocks = 256;
  return graph_->Meets(
      cur_, [&](uint32_t id) { return graph_->info(id).HasInstruction(ip); }, kMostBlocks);
}

// Tracing stops at the branch that ends this block.
template <FlowSink Sink>
[[gnu::always_inline]] inline bool FlowEngine<Sink>::StopAtBranch(std::optional<uint64_t> ip) {
  const NodeKind kind = graph_->node(cur_).kind;
  if (kind == NodeKind::kConditional) return LeaveAtConditional(ip);
  if (!ip && kind == NodeKind::kReturn) return LeaveAtReturn();
  if (!ip && kind != NodeKind::kFar)
    return MismatchAtBranch("TIP.PGD without an IP at an indirect branch");
  if (kind == NodeKind::kReturn) returns_.PopIfAny();
  // A system call returns behind its instruction.
  if (!ip && kind == NodeKind::kFar) StopProgram(graph_->SuccessorAddress(cur_, 0));
  Emit(cur_, BlockExit::kStopped, ip.value_or(0));
  return true;
}

// TIP.PGD without a FUP before it: walks on to the instruction that stops tracing. With an IP that
// is the branch that leaves the filter range for it. Without an IP it is a change to a level that
// is not traced, or a branch out of the filter range whose target the code contains.
template <FlowSink Sink>
bool FlowEngine<Sink>::WalkToStop(std::optional<uint64_t> ip) {
  if (!held_.empty()) return MismatchAtBranch("TIP.PGD where a TIP is due");
  const auto stops_in = [&](uint32_t id) {
    return ip ? graph_->info(id).InstructionsBefore(*ip) : 0;
  };
  const auto stops_at = [&](uint32_t id) {
    return NeedsNoPacket(graph_->node(id).kind) && limits_.StopAtEndOf(*graph_, id, ip);
  };
  const auto stops = [&](uint32_t id) { return stops_in(id) != 0 || stops_at(id); };
  for (bool leads = false;;) {
    if (const unsigned before = stops_in(cur_); before != 0) {
      sink_.Part(*graph_, cur_, before, Now());  // the range ends in mid-block
      return true;
    }
    const Node& node = graph_->node(cur_);
    if (!NeedsNoPacket(node.kind) && !HasNoCode(node.kind)) return StopAtBranch(ip);
    if (stops_at(cur_)) {
      const bool leaves = IsDirect(node.last) || !ip;
      Emit(cur_, leaves ? BlockExit::kStopped : BlockExit::kFallThrough, ip.value_or(0));
      return true;
    }
    if (PassBlock(stops, leads) == Passed::kFailed) return false;
  }
}

// The manual's packet for a filter range left by a taken branch has no IP; processors that give it
// one do so for either direction. Where a recording does not say whether it was filtered, the
// packet itself shows that it was.  [SDM "Packet Generation Disable (TIP.PGD) Packet"]
template <FlowSink Sink>
bool FlowEngine<Sink>::LeaveAtConditional(std::optional<uint64_t> ip) {
  if (!ip && !MayBeFiltered())
    return MismatchAtBranch("TIP.PGD without an IP at a conditional branch");
  const bool taken = ip != graph_->SuccessorAddress(cur_, 0);
  const uint64_t next = ip.value_or(graph_->SuccessorAddress(cur_, 1));
  Emit(cur_, taken ? BlockExit::kTaken : BlockExit::kNotTaken, next);
  return true;
}

// A compressed return leaves the filter range: its target is known from its call, so the TIP.PGD
// has no IP. The TIP.PGD of any other return has one.
template <FlowSink Sink>
bool FlowEngine<Sink>::LeaveAtReturn() {
  const bool may_be_compressed = compressed_returns_ && (!returns_.empty() || calls_lost_);
  if (!MayBeFiltered() || !may_be_compressed)
    return MismatchAtBranch("TIP.PGD without an IP at a return");
  const uint64_t next = returns_.empty() ? 0 : AddressOf(returns_.Pop());
  Emit(cur_, BlockExit::kStopped, next);
  return true;
}

// A PTW without a FUP belongs to the next PTWRITE on the way.
template <FlowSink Sink>
bool FlowEngine<Sink>::WalkPastPtwrite(TraceEvent event) {
  if (!held_.empty()) return MismatchAtBranch("PTW where a TIP is due");
  const auto is_ptwrite = [&](uint32_t id) { return graph_->Binds(id, kFlagPtwrite); };
  for (bool leads = false;;) {
    if (is_ptwrite(cur_)) {
      event.ip = graph_->info(cur_).LastAddress();
      event.has_ip = true;
      cur_ = StepOver(sink_, cur_);
      Notify(event);
      return true;
    }
    const Passed passed = PassBlock(is_ptwrite, leads);
    if (passed == Passed::kFailed) return false;
    if (passed == Passed::kNeedsPacket)
      return MismatchAtBranch("PTW, but no PTWRITE before the next branch");
  }
}

}  // namespace flowback::pt
