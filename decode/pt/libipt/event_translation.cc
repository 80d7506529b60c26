// SPDX-License-Identifier: MIT
#include "decode/pt/libipt/event_translation.h"

#include "decode/pt/libipt/branch_target.h"
#include "decode/pt/packets/mnt.h"

namespace flowback::libipt {
namespace {

// An event without an address of its own.
TraceEvent Plain(EventKind kind, uint64_t value = 0, uint64_t extra = 0) {
  TraceEvent event;
  event.kind = kind;
  event.value = value;
  event.extra = extra;
  return event;
}

// An event at `ip`, unless libipt says that the trace gave no address.
TraceEvent At(EventKind kind, const pt_event& from, uint64_t ip, uint64_t value = 0,
              uint64_t extra = 0) {
  TraceEvent event = Plain(kind, value, extra);
  event.has_ip = from.ip_suppressed == 0;
  if (event.has_ip) event.ip = ip;
  return event;
}

// An event whose target, not whose address, may be suppressed.
TraceEvent Transfer(EventKind kind, const pt_event& from, uint64_t ip, uint64_t target) {
  TraceEvent event = Plain(kind);
  event.has_ip = true;
  event.ip = ip;
  if (from.ip_suppressed == 0) event.target = target;
  return event;
}

EventKind TransactionKind(const pt_event& event) {
  if (event.variant.tsx.aborted) return EventKind::kTransactionAbort;
  return event.variant.tsx.speculative ? EventKind::kTransactionBegin
                                       : EventKind::kTransactionCommit;
}

// The raw CS.D and CS.L bits (SDM: bits 1 and 0 of the packet's payload) that mean `mode`.
uint64_t CodeSegmentBits(CodeMode mode) {
  if (mode == CodeMode::kX86_64) return 1;
  return mode == CodeMode::kX86_32 ? 2 : 0;
}

TraceEvent Mode(const pt_event& event) {
  const CodeMode mode = ModeOf(event.variant.exec_mode.mode);
  return At(EventKind::kExecMode, event, event.variant.exec_mode.ip, static_cast<uint64_t>(mode),
            CodeSegmentBits(mode) << 8);
}

TraceEvent PowerExit(const pt_event& event) {
  const auto& exit = event.variant.pwrx;
  const uint64_t reason = exit.interrupt | exit.store << 2 | exit.autonomous << 3;
  return Plain(EventKind::kPowerExit, exit.last | static_cast<uint64_t>(exit.deepest) << 8, reason);
}

TraceEvent Ptwrite(const pt_event& event) {
  const auto& write = event.variant.ptwrite;
  return At(EventKind::kPtwrite, event, write.ip, write.payload, write.size);
}

TraceEvent Disabled(const pt_event& event) {
  TraceEvent stopped = Plain(EventKind::kStopped);
  if (event.ip_suppressed == 0) stopped.target = event.variant.disabled.ip;
  return stopped;
}

}  // namespace

std::optional<TraceEvent> Translate(const pt_event& event) {
  const auto& is = event.variant;
  switch (event.type) {
    case ptev_enabled:
      return At(EventKind::kStarted, event, is.enabled.ip);
    case ptev_disabled:
      return Disabled(event);
    case ptev_async_disabled:
      return Transfer(EventKind::kStoppedAsync, event, is.async_disabled.at, is.async_disabled.ip);
    case ptev_async_branch:
      return Transfer(EventKind::kInterrupted, event, is.async_branch.from, is.async_branch.to);
    case ptev_paging:
      return Plain(EventKind::kPaging, is.paging.cr3, is.paging.non_root);
    case ptev_async_paging:
      return At(EventKind::kPaging, event, is.async_paging.ip, is.async_paging.cr3,
                is.async_paging.non_root);
    case ptev_overflow:
      return At(EventKind::kOverflow, event, is.overflow.ip);
    case ptev_exec_mode:
      return Mode(event);
    case ptev_tsx:
      return At(TransactionKind(event), event, is.tsx.ip);
    case ptev_stop:
      return Plain(EventKind::kTraceStop);
    case ptev_vmcs:
      return Plain(EventKind::kVmcs, is.vmcs.base);
    case ptev_async_vmcs:
      return At(EventKind::kVmcs, event, is.async_vmcs.ip, is.async_vmcs.base);
    case ptev_exstop:
      return At(EventKind::kExecStop, event, is.exstop.ip);
    case ptev_mwait:
      return At(EventKind::kMwait, event, is.mwait.ip, is.mwait.hints, is.mwait.ext);
    case ptev_pwre:
      return Plain(EventKind::kPowerEntry,
                   is.pwre.state | static_cast<uint64_t>(is.pwre.sub_state) << 8, is.pwre.hw);
    case ptev_pwrx:
      return PowerExit(event);
    case ptev_ptwrite:
      return Ptwrite(event);
    case ptev_cbr:
      return Plain(EventKind::kCoreBusRatio, is.cbr.ratio);
    case ptev_mnt:
      if (const auto lock = pt::LockAddress::Of({is.mnt.payload}))
        return Plain(EventKind::kLockAddress, lock->address, lock->futex ? 1 : 0);
      return Plain(EventKind::kMaintenance, is.mnt.payload);
    case ptev_tick:
      break;
  }
  return std::nullopt;
}

}  // namespace flowback::libipt
