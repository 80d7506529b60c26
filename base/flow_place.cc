// SPDX-License-Identifier: MIT
#include "flowback/model/flow_segment.h"

namespace flowback {
namespace {

// 0 says that the address is not known.
FlowPlace At(uint64_t ip) {
  return ip == 0 ? FlowPlace{} : FlowPlace{.kind = FlowPlace::Kind::kAt, .ip = ip};
}
FlowPlace Off(uint64_t ip) { return {.kind = FlowPlace::Kind::kOff, .ip = ip}; }

}  // namespace

FlowPlace Behind(const BlockRun& run) {
  return run.exit == BlockExit::kStopped ? Off(run.next) : At(run.next);
}

FlowPlace Behind(const BlockBatch& batch) { return At(batch.next); }

FlowPlace Behind(const TraceEvent& event, const FlowPlace& before) {
  switch (event.kind) {
    case EventKind::kStarted:
    case EventKind::kOverflow:
      return At(event.ip);
    case EventKind::kInterrupted:
    case EventKind::kTransactionAbort:
      return At(event.target);
    case EventKind::kStopped:
    case EventKind::kStoppedAsync:
      return Off(event.target);
    default:
      return before;
  }
}

FlowPlace Behind(const UnknownFlow& unknown) { return At(unknown.to); }

}  // namespace flowback
