// SPDX-License-Identifier: MIT
#include "replay/query/flow_rows.h"

#include <algorithm>

namespace flowback {

FlowRows::FlowRows(QuerySource& source, const QueryLimits& limits)
    : source_(source), limits_(limits), index_(**source.Index()) {}

Result<bool> FlowRows::Next() {
  if (limits_.none) return false;
  if (has_row_) ++row_;
  while (!has_row_ || row_ >= row_count()) {
    if (source_.stops()) return Fail(ErrorCode::kUsage, "SQL: interrupted");
    ForgetRows();
    row_ = 0;
    has_row_ = true;
    if (flow_ == nullptr && !EnterNextThread()) return false;
    if (!PlayNextShare()) {
      flow_ = nullptr;
      ++thread_;
    }
  }
  return true;
}

// Nothing of it can reach the limits from before.
bool FlowRows::IsBefore(const FlowShare& share) const {
  if (share.last_tsc == 0) return false;
  const uint64_t last = clock().UpperValue(share.last_tsc);
  return last < limits_.begin.begin || last < limits_.end.begin;
}

bool FlowRows::IsBehind(const FlowShare& share) const {
  return share.first_tsc != 0 && clock().Value(share.first_tsc) > limits_.end.end;
}

bool FlowRows::EnterNextThread() {
  for (; thread_ < source_.threads().size(); ++thread_) {
    const IndexedThread& flow = index_.threads()[thread().number];
    if (!limits_.FitsThread(flow.tid) || flow.shares.empty()) continue;
    size_t first = 0;
    // A time is not told of each share: those without one lie where their neighbours are.
    for (size_t i = 0; i < flow.shares.size(); ++i)
      if (IsBefore(flow.shares[i])) first = i;
    flow_ = &flow;
    now_ = 0;
    share_ = BeginThread(first);
    return true;
  }
  return false;
}

bool FlowRows::PlayNextShare() {
  if (share_ > flow_->shares.size()) return false;
  if (share_ == flow_->shares.size()) {
    ++share_;
    EndThread();
    return true;
  }
  const FlowShare& share = flow_->shares[share_];
  if (IsOver() || IsBehind(share)) return false;
  ++share_;
  if (!Wants(share)) return true;
  ++source_.effort().shares;
  index_.Play(share, *this);
  // What ended early has no end.
  if (IsOver()) share_ = flow_->shares.size() + 1;
  return true;
}

}  // namespace flowback
