// SPDX-License-Identifier: MIT
// Packets that are events: the event of each, and whether it waits for a FUP with its place.
// Inline, so that an event for a sink that takes none is never made.
#pragma once

#include "decode/pt/packets/packet.h"
#include "decode/pt/stream/packet_compound.h"
#include "flowback/model/execution.h"

namespace flowback::pt {

struct PacketEvent {
  TraceEvent event{};  // kind and values; when and where it was is the engine's concern
  bool waits = false;  // for a FUP: then as PacketCompound::Waiting has it
  bool must_reach = true;
  bool takes_fup = true;

  PacketCompound::Waiting Waiting() const {
    return {.event = event, .must_reach = must_reach, .takes_fup = takes_fup};
  }
};

inline PacketEvent EventWith(EventKind kind, uint64_t value = 0, uint64_t extra = 0) {
  PacketEvent told;
  told.event.kind = kind;
  told.event.value = value;
  told.event.extra = extra;
  return told;
}

// With the packet's IP bit a FUP follows, which is this packet's alone.
inline PacketEvent Placed(PacketEvent told, bool ip) {
  told.waits = ip;
  return told;
}

// Types of control flow events whose FUP names an instruction that executes, not one that is
// interrupted: IRET, RSM, VM entry, UIRET, SYSCALL.  [SDM "Control Flow Event (CFE) Packet"]
constexpr bool IsInstructionEvent(uint8_t type) {
  return type == 0x02 || type == 0x04 || type == 0x07 || type == 0x0d || type == 0x0f;
}

inline PacketEvent EventOf(const Cbr& packet) {
  return EventWith(EventKind::kCoreBusRatio, packet.ratio);
}

inline PacketEvent EventOf(const Pip& packet) {
  return EventWith(EventKind::kPaging, packet.cr3, packet.non_root ? 1 : 0);
}

inline PacketEvent EventOf(const Vmcs& packet) { return EventWith(EventKind::kVmcs, packet.base); }

inline PacketEvent EventOf(const TraceStop&) { return EventWith(EventKind::kTraceStop); }

inline PacketEvent EventOf(const Mnt& packet) {
  if (const auto lock = LockAddress::Of(packet))
    return EventWith(EventKind::kLockAddress, lock->address, lock->futex ? 1 : 0);
  return EventWith(EventKind::kMaintenance, packet.payload);
}

inline PacketEvent EventOf(const Ptw& packet) {
  return Placed(EventWith(EventKind::kPtwrite, packet.payload, packet.bytes), packet.ip);
}

inline PacketEvent EventOf(const ExStop& packet) {
  return Placed(EventWith(EventKind::kExecStop), packet.ip);
}

inline PacketEvent EventOf(const Mwait& packet) {
  return Placed(EventWith(EventKind::kMwait, packet.hints, packet.extensions), true);
}

inline PacketEvent EventOf(const Pwre& packet) {
  return EventWith(EventKind::kPowerEntry, packet.state | uint64_t{packet.sub_state} << 8,
                   packet.hardware ? 1 : 0);
}

inline PacketEvent EventOf(const Pwrx& packet) {
  return EventWith(
      EventKind::kPowerExit, packet.last | uint64_t{packet.deepest} << 8,
      (packet.interrupt ? 1 : 0) | (packet.store ? 4 : 0) | (packet.autonomous ? 8 : 0));
}

inline PacketEvent EventOf(const Bbp& packet) {
  return EventWith(EventKind::kPebsBegin, packet.type, packet.four_byte ? 1 : 0);
}

inline PacketEvent EventOf(const Bip& packet) {
  return EventWith(EventKind::kPebsItem, packet.payload, packet.id);
}

inline PacketEvent EventOf(const Bep& packet) {
  PacketEvent told = Placed(EventWith(EventKind::kPebsEnd), packet.ip);
  told.must_reach = false;
  return told;
}

inline PacketEvent EventOf(const Cfe& packet) {
  PacketEvent told =
      Placed(EventWith(EventKind::kControlFlowEvent, packet.type, packet.vector), packet.ip);
  told.must_reach = told.takes_fup = IsInstructionEvent(packet.type);
  return told;
}

inline PacketEvent EventOf(const Evd& packet) {
  return EventWith(EventKind::kEventData, packet.payload, packet.type);
}

inline PacketEvent EventOf(const Trig& packet) {
  PacketEvent told = Placed(
      EventWith(EventKind::kTrigger, packet.triggers | (packet.mult ? 0x100 : 0), packet.icnt),
      packet.ip);
  told.must_reach = false;
  return told;
}

}  // namespace flowback::pt
