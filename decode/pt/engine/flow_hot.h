// SPDX-License-Identifier: MIT
// FlowEngine's hot loops: TNT and TIP packets at branches where nothing special happens.
#pragma once

#include "decode/effort.h"
#include "decode/pt/engine/flow_walk.h"

namespace flowback::pt {

// Takes the packets that make up most of a trace, as long as nothing is pending. The loops work on
// copies of the position and the sums, so that these stay in registers, and stop at any packet that
// needs more work. Where RunMemoised does most of the work, only the last few bytes are left to
// RunHot.
template <FlowSink Sink>
void FlowEngine<Sink>::FastPackets() {
  while (pos_ < end_ && !sink_.Done()) {
    HotStop stop;
    if constexpr (Sink::kMemoises)
      stop = RunMemoised();
    else
      stop = RunHot();
    if (stop == HotStop::kOther) return;
    packet_ = hot_packet_;
    bool ok = true;
    if (stop == HotStop::kTnt) ok = WalkTnt(hot_bits_, hot_count_);
    if (stop == HotStop::kTip) ok = hot_ip_ ? TakeTip(*hot_ip_) : TipWithoutIp();
    if (!ok) {
      const uint8_t* const behind = pos_;
      Failed();
      // The same packet may name where execution is.
      if (pos_ == behind && input_.resync == Resync::kEarliest) pos_ = packet_;
      return;
    }
    if (!held_.empty()) return;
    if (stop == HotStop::kTip) TipEnd();
  }
}

// `kToPaths`: ends with kPaths where RunMemoised may go on; not before the first packet.
template <FlowSink Sink>
template <bool kToPaths>
typename FlowEngine<Sink>::HotStop FlowEngine<Sink>::RunHot() {
  typename Sink::Run run(sink_);
  const uint8_t* pos = pos_;
  const uint8_t* const end = hot_end_;
  uint32_t cur = cur_;
  uint64_t padding = 0;
  auto leave = [&](HotStop stop) {
    pos_ = pos;
    cur_ = cur;
    account_.AddPadding(padding);
    return stop;
  };
  while (pos < end && !sink_.Done()) {
    if constexpr (kToPaths)
      if (pos != pos_ && sink_.TakesPaths()) return leave(HotStop::kPaths);
    const uint8_t byte = *pos;
    if ((byte & 1) == 0) {
      if (byte == 0) {
        ++padding;
        ++pos;
        continue;
      }
      if (byte == kExtendedPrefix) return leave(HotStop::kOther);
      hot_packet_ = pos++;
      CountSlow(kToPaths ? SlowPacket::kTime : SlowPacket::kEnd);
      const uint64_t bits = byte >> 1;
      unsigned count = 30 - static_cast<unsigned>(__builtin_clz(byte));
      [[maybe_unused]] const unsigned all = count;
      if (RunTnt(run, cur, bits, count) == NodeKind::kConditional) {
        TntEnd(all, pos);
        continue;
      }
      hot_bits_ = bits;
      hot_count_ = count;
      return leave(HotStop::kTnt);
    }
    if (Tip::kOpcode.Matches(byte)) {
      Tip tip;
      const ReadResult size = Tip::Parse({pos, static_cast<size_t>(end - pos)}, tip);
      if (!size) return leave(HotStop::kOther);
      hot_packet_ = pos;
      pos += *size;
      CountSlow(kToPaths ? SlowPacket::kTime : SlowPacket::kEnd);
      hot_ip_ = last_ip_.Apply(tip.ip);
      if (!hot_ip_ || !RunTip(run, cur, *hot_ip_)) return leave(HotStop::kTip);
      TipEnd();
    } else if (byte == Mtc::kOpcode.value && end - pos >= 2) {
      if (clock_.On(Mtc{pos[1]})) Told(TimeMark::Kind::kMtc);
      pos += 2;
    } else if ((byte & 7) == 3) {  // a CYC of one byte
      clock_.OnCycles(byte >> 3);
      Told(TimeMark::Kind::kCyc);
      ++pos;
    } else if (Cyc cyc; Cyc::kOpcode.Matches(byte) && !errata_.cyc_cut_by_ovf) {
      const ReadResult size = Cyc::Parse({pos, static_cast<size_t>(end - pos)}, cyc);
      if (!size) return leave(HotStop::kOther);
      clock_.On(cyc);
      Told(TimeMark::Kind::kCyc);
      pos += *size;
    } else {
      return leave(HotStop::kOther);
    }
  }
  return leave(HotStop::kOther);
}

// Takes a TIP, if the walk comes to an indirect branch. Else it returns false; then it has walked
// to where the TIP can't be right, and done nothing more.
template <FlowSink Sink>
template <class Output>
inline bool FlowEngine<Sink>::RunTip(Output& run, uint32_t& cur, uint64_t ip) {
  for (;;) {
    const Node& node = graph_->node(cur);
    switch (node.kind) {
      case NodeKind::kReturn:
        returns_.PopIfAny();
        break;
      case NodeKind::kIndirectCall:
        returns_.Push(cur);
        break;
      case NodeKind::kIndirect:
      case NodeKind::kFar:
        break;
      default:
        if (!NeedsNoPacket(node.kind) || (!node.terminates && !graph_->Terminates(cur)))
          return false;
        cur = StepOver(run, cur);
        continue;
    }
    run.Block(*graph_, cur, node, BlockExit::kTaken, ip, Now());
    const uint32_t predicted = node.next[1];
    if (predicted != 0 && graph_->info(predicted).address == ip) {
      cur = predicted;
    } else {
      const uint32_t from = cur;
      cur = graph_->NodeAt(ip);
      graph_->nodes()[from].next[1] = cur;  // prediction: the same target again
    }
    return true;
  }
}

// The hot loop of WalkTnt. Stops at the first node where a bit is no help, with `cur` and `count`
// as they are there; returns its kind, kConditional when all bits are used up, kGoto for an endless
// walk, kReturn for a compressed return that can't be right.
template <FlowSink Sink>
[[gnu::always_inline]] inline NodeKind FlowEngine<Sink>::RunTnt(typename Sink::Run& run,
                                                                uint32_t& cur, uint64_t bits,
                                                                unsigned& count) {
  const Moment now = Now();
  while (count > 0) {
    const Node& node = graph_->node(cur);
    switch (node.kind) {
      case NodeKind::kConditional: {
        const unsigned taken = bits >> --count & 1;
        run.Conditional(*graph_, cur, node, taken, now);
        cur = Successor(cur, taken);
        break;
      }
      case NodeKind::kReturn: {
        const bool taken = (bits >> (count - 1) & 1) != 0;
        if (!compressed_returns_ || !taken || returns_.empty()) return NodeKind::kReturn;
        --count;
        const ReturnStack::Entry entry = returns_.Pop();
        uint64_t next = 0;
        if constexpr (Sink::kWantsAddresses) next = AddressOf(entry);
        run.Block(*graph_, cur, node, BlockExit::kTaken, next, now);
        cur = ReturnTo(entry);
        break;
      }
      default:
        if (!NeedsNoPacket(node.kind)) return node.kind;
        if (!node.terminates && !graph_->Terminates(cur)) return NodeKind::kGoto;
        cur = StepOver(run, cur);
    }
  }
  return NodeKind::kConditional;
}

}  // namespace flowback::pt
