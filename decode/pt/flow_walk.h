// SPDX-License-Identifier: MIT
// FlowEngine, part 1: walking code.
#pragma once

#include "decode/pt/flow_engine.h"

namespace flowback::pt {

// A walk through blocks that need no packet is checked for being endless once it is this long.
inline constexpr unsigned kSuspiciousWalk = 64;

template <class Sink>
inline void FlowEngine<Sink>::Emit(uint32_t id, BlockExit exit, uint64_t next) {
  sink_.Block(*graph_, id, graph_->node(id), exit, next, Now());
}

template <class Sink>
inline uint32_t FlowEngine<Sink>::Successor(uint32_t id, unsigned direction) {
  const uint32_t next = graph_->node(id).next[direction];
  return next != 0 ? next : graph_->Resolve(id, direction);
}

template <class Sink>
inline uint32_t FlowEngine<Sink>::ReturnTo(const ReturnStack::Entry& entry) {
  return entry.call != 0 ? Successor(entry.call, 0) : graph_->NodeAt(entry.address);
}

template <class Sink>
void FlowEngine<Sink>::Goto(uint64_t ip) {
  cur_ = graph_->NodeAt(ip);
}

// The packets that make up most of a trace, while nothing is pending.
template <class Sink>
void FlowEngine<Sink>::FastPackets() {
  while (pos_ < end_ && !sink_.Done()) {
    const uint8_t byte = *pos_;
    packet_ = pos_;
    if ((byte & 1) == 0) {
      if (byte == 0) {
        ++account_.padding;
        ++pos_;
        continue;
      }
      if (byte == kExtendedPrefix) return;
      ShortTnt tnt;
      (void)ShortTnt::Parse({pos_, 1}, tnt);
      ++pos_;
      if (!WalkTnt(tnt.bits, tnt.count)) return Failed();
      if (held_count_ != 0) return;
    } else if (Tip::kOpcode.Matches(byte)) {
      Tip tip;
      const ReadResult size = Tip::Parse(Rest(), tip);
      if (!size) return;
      const std::optional<uint64_t> ip = last_ip_.Apply(tip.ip);
      pos_ += *size;
      if (!ip) {
        Mismatch("TIP without an IP");
        return Failed();
      }
      if (!TakeTip(*ip)) return Failed();
    } else if (byte == Mtc::kOpcode.value) {
      if (end_ - pos_ < 2) return;
      clock_.On(Mtc{pos_[1]});
      pos_ += 2;
    } else if ((byte & 7) == 3) {  // a CYC of one byte
      clock_.OnCycles(byte >> 3);
      ++pos_;
    } else {
      return;
    }
  }
}

// Nothing is mapped at cur_: the trace's clock may lag behind the kernel's maps.
template <class Sink>
bool FlowEngine<Sink>::NoCode() {
  const uint64_t ip = CurrentAddress();
  if (graph_->node(cur_).kind == NodeKind::kBadInstruction)
    return Fail(LossCause::kBadInstruction, "no instruction at " + Hex(ip));
  if (!code_.AdvanceFor(ip)) return Fail(LossCause::kNoImage, "no code at " + Hex(ip));
  graph_ = &code_.Graph(exec_mode_);
  returns_.ForgetNodes();
  Goto(ip);
  return true;
}

// Passes one block that needs no packet.
template <class Sink>
inline bool FlowEngine<Sink>::StepOver() {
  const Node& node = graph_->node(cur_);
  if (node.kind == NodeKind::kCall && node.pushes)
    returns_.Push(graph_->SuccessorAddress(cur_, 0), cur_);
  uint64_t next = 0;
  if constexpr (Sink::kWantsAddresses) next = graph_->SuccessorAddress(cur_, 1);
  Emit(cur_, IsDirect(node.last) ? BlockExit::kTaken : BlockExit::kFallThrough, next);
  cur_ = Successor(cur_, 1);
  return true;
}

// Consumes `count` branch outcomes, the oldest in the highest bit. Bits that an indirect branch
// leaves over are held.
template <class Sink>
bool FlowEngine<Sink>::WalkTnt(uint64_t bits, unsigned count) {
  unsigned chain = 0;
  while (count > 0) {
    const Node& node = graph_->node(cur_);
    switch (node.kind) {
      case NodeKind::kConditional: {
        --count;
        const unsigned taken = bits >> count & 1;
        uint64_t next = 0;
        if constexpr (Sink::kWantsAddresses) next = graph_->SuccessorAddress(cur_, taken);
        Emit(cur_, taken ? BlockExit::kTaken : BlockExit::kNotTaken, next);
        cur_ = Successor(cur_, taken);
        chain = 0;
        break;
      }
      case NodeKind::kReturn: {
        if (!compressed_returns_) {
          held_bits_ = bits;
          held_count_ = count;
          return true;
        }
        --count;
        if ((bits >> count & 1) == 0)
          return Fail(LossCause::kReturnMismatch,
                      "not-taken bit at the return at " + Hex(graph_->info(cur_).LastAddress()));
        if (returns_.empty())
          return Fail(LossCause::kReturnMismatch, "the return at " +
                                                      Hex(graph_->info(cur_).LastAddress()) +
                                                      " is compressed, but its call is not known");
        const ReturnStack::Entry entry = returns_.Pop();
        Emit(cur_, BlockExit::kTaken, entry.address);
        cur_ = ReturnTo(entry);
        chain = 0;
        break;
      }
      case NodeKind::kGoto:
      case NodeKind::kCall:
      case NodeKind::kSpecial:
        if (++chain == kSuspiciousWalk && graph_->LoopsWithoutPacket(cur_))
          return Fail(LossCause::kRunaway, "from " + Hex(CurrentAddress()));
        StepOver();
        break;
      case NodeKind::kIndirect:
      case NodeKind::kIndirectCall:
      case NodeKind::kFar:
        held_bits_ = bits;
        held_count_ = count;
        return true;
      case NodeKind::kNoImage:
      case NodeKind::kBadInstruction:
        if (!NoCode()) return false;
        break;
    }
  }
  return true;
}

template <class Sink>
bool FlowEngine<Sink>::WalkHeldBits() {
  if (held_count_ == 0) return true;
  deferred_tips_ = true;
  return WalkTnt(held_bits_, std::exchange(held_count_, 0));
}

// On to the next block whose end needs a packet.
template <class Sink>
bool FlowEngine<Sink>::WalkToConsumer() {
  for (unsigned chain = 0;;) {
    switch (graph_->node(cur_).kind) {
      case NodeKind::kGoto:
      case NodeKind::kCall:
      case NodeKind::kSpecial:
        if (++chain == kSuspiciousWalk && graph_->LoopsWithoutPacket(cur_))
          return Fail(LossCause::kRunaway, "from " + Hex(CurrentAddress()));
        StepOver();
        break;
      case NodeKind::kNoImage:
      case NodeKind::kBadInstruction:
        if (!NoCode()) return false;
        break;
      default:
        return true;
    }
  }
}

// A TIP that is not part of an asynchronous transfer.
template <class Sink>
bool FlowEngine<Sink>::TakeTip(uint64_t ip) {
  if (!WalkToConsumer()) return false;
  const Node& node = graph_->node(cur_);
  if (node.kind == NodeKind::kConditional) return Mismatch("TIP at a conditional branch");
  if (node.kind == NodeKind::kReturn) returns_.PopIfAny();
  if (node.pushes) returns_.Push(graph_->SuccessorAddress(cur_, 0), cur_);
  Emit(cur_, BlockExit::kTaken, ip);
  const uint32_t from = cur_;
  const BlockGraph* graph = graph_;
  ApplyMode();
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

// How many instructions of block `id` end at or before `ip`; 0 when `ip` is not the address of an
// instruction inside it (the first does not count as inside).
template <class Sink>
unsigned FlowEngine<Sink>::InstructionsBefore(uint32_t id, uint64_t ip) const {
  const NodeInfo& info = graph_->info(id);
  if (ip <= info.address || ip >= info.end()) return 0;
  uint64_t at = info.address;
  for (unsigned i = 0; i < info.block->count; ++i) {
    if (at == ip) return i;
    at += info.block->lengths[i];
  }
  return 0;
}

// Walks branch-free code up to, not including, the instruction at `ip`.
template <class Sink>
bool FlowEngine<Sink>::WalkTo(uint64_t ip) {
  if (held_count_ != 0) return Mismatch("FUP where a TIP is due");
  for (unsigned chain = 0;;) {
    if (CurrentAddress() == ip) return true;
    if (const unsigned before = InstructionsBefore(cur_, ip); before != 0) {
      sink_.Part(*graph_, cur_, before, Now());
      Goto(ip);
      return true;
    }
    switch (graph_->node(cur_).kind) {
      case NodeKind::kGoto:
      case NodeKind::kCall:
      case NodeKind::kSpecial:
        if (++chain == kSuspiciousWalk && !Reaches(ip) && graph_->LoopsWithoutPacket(cur_))
          return Fail(LossCause::kRunaway, "on the way to " + Hex(ip));
        StepOver();
        break;
      case NodeKind::kNoImage:
      case NodeKind::kBadInstruction:
        if (!NoCode()) return false;
        break;
      default:
        return Mismatch(("a branch lies before the FUP address " + Hex(ip)).c_str());
    }
  }
}

// Whether branch-free code leads from here to `ip`. Nothing is executed.
template <class Sink>
bool FlowEngine<Sink>::Reaches(uint64_t ip) {
  uint32_t id = cur_;
  // Every node is passed at most once on a path without packets; a longer one goes in circles.
  for (size_t steps = 0; steps <= graph_->size(); ++steps) {
    if (graph_->info(id).address == ip || InstructionsBefore(id, ip) != 0) return true;
    const NodeKind kind = graph_->node(id).kind;
    if (kind != NodeKind::kGoto && kind != NodeKind::kCall && kind != NodeKind::kSpecial)
      return false;
    id = Successor(id, 1);
  }
  return false;
}

template <class Sink>
bool FlowEngine<Sink>::LeavesFilter(uint32_t id) const {
  if (!errata_.filter_exit_no_ip || input_.config.filter_ranges.empty()) return false;
  const InstructionClass last = graph_->node(id).last;
  if (last != InstructionClass::kJump && last != InstructionClass::kCall) return false;
  const uint64_t target = graph_->SuccessorAddress(id, 1);
  for (const AddressRange& range : input_.config.filter_ranges)
    if (range.Contains(target)) return false;
  return true;
}

// TIP.PGD without a FUP before it: on to the instruction that stops tracing. Without an IP that is
// a change to a level that is not traced; with one, the branch that leaves the filter range for it.
template <class Sink>
bool FlowEngine<Sink>::WalkToStop(std::optional<uint64_t> ip) {
  if (held_count_ != 0) return Mismatch("TIP.PGD where a TIP is due");
  for (unsigned chain = 0;;) {
    const uint32_t id = cur_;
    const Node& node = graph_->node(id);
    if (const unsigned before = ip ? InstructionsBefore(id, *ip) : 0; before != 0) {
      sink_.Part(*graph_, id, before, Now());  // the range ends in mid-block
      return true;
    }
    switch (node.kind) {
      case NodeKind::kConditional:
        if (!ip) return Mismatch("TIP.PGD without an IP at a conditional branch");
        Emit(id, *ip == graph_->SuccessorAddress(id, 0) ? BlockExit::kNotTaken : BlockExit::kTaken,
             *ip);
        return true;
      case NodeKind::kReturn:
      case NodeKind::kIndirect:
      case NodeKind::kIndirectCall:
        if (!ip) return Mismatch("TIP.PGD without an IP at an indirect branch");
        [[fallthrough]];
      case NodeKind::kFar:
        if (node.kind == NodeKind::kReturn) returns_.PopIfAny();
        Emit(id, BlockExit::kStopped, ip.value_or(0));
        return true;
      case NodeKind::kGoto:
      case NodeKind::kCall:
      case NodeKind::kSpecial: {
        const bool direct = IsDirect(node.last);
        const bool stops = ip ? graph_->SuccessorAddress(id, 1) == *ip : LeavesFilter(id);
        const bool paging = !ip && node.kind == NodeKind::kSpecial &&
                            (graph_->info(id).block->last.flags & kFlagMovCr3) != 0;
        if (stops || paging) {
          Emit(id, direct || paging ? BlockExit::kStopped : BlockExit::kFallThrough,
               ip.value_or(0));
          return true;
        }
        if (++chain == kSuspiciousWalk && graph_->LoopsWithoutPacket(id))
          return Fail(LossCause::kRunaway, "from " + Hex(CurrentAddress()));
        StepOver();
        break;
      }
      case NodeKind::kNoImage:
      case NodeKind::kBadInstruction:
        if (!NoCode()) return false;
        break;
    }
  }
}

// A PTW without a FUP belongs to the next PTWRITE on the way.
template <class Sink>
bool FlowEngine<Sink>::WalkPastPtwrite(TraceEvent event) {
  if (held_count_ != 0) return Mismatch("PTW where a TIP is due");
  for (unsigned chain = 0;;) {
    const Node& node = graph_->node(cur_);
    switch (node.kind) {
      case NodeKind::kSpecial:
        if ((graph_->info(cur_).block->last.flags & kFlagPtwrite) != 0) {
          event.ip = graph_->info(cur_).LastAddress();
          event.has_ip = true;
          StepOver();
          sink_.Event(event);
          return true;
        }
        [[fallthrough]];
      case NodeKind::kGoto:
      case NodeKind::kCall:
        if (++chain == kSuspiciousWalk && graph_->LoopsWithoutPacket(cur_))
          return Fail(LossCause::kRunaway, "from " + Hex(CurrentAddress()));
        StepOver();
        break;
      case NodeKind::kNoImage:
      case NodeKind::kBadInstruction:
        if (!NoCode()) return false;
        break;
      default:
        return Mismatch("PTW, but no PTWRITE before the next branch");
    }
  }
}

}  // namespace flowback::pt
