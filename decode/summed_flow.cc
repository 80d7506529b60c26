// SPDX-License-Identifier: MIT
#include "decode/summed_flow.h"

#include <utility>

namespace flowback {
namespace {

uint64_t* CounterOf(InstructionClass kind, FlowTotals& totals) {
  switch (kind) {
    case InstructionClass::kOther:
      return nullptr;
    case InstructionClass::kConditional:
      return &totals.taken;
    case InstructionClass::kJump:
      return &totals.jumps;
    case InstructionClass::kCall:
      return &totals.calls;
    case InstructionClass::kIndirectJump:
      return &totals.indirect_jumps;
    case InstructionClass::kIndirectCall:
      return &totals.indirect_calls;
    case InstructionClass::kReturn:
      return &totals.returns;
    default:
      return &totals.far;
  }
}

}  // namespace

void SummedFlow::OnLoss(const DataLoss& loss) {
  Enter(loss.stay);
  DataLoss added = loss;
  added.after = summary_.digest.count;
  summary_.AddLoss(std::move(added));
}

FlowSummary SummedFlow::Take(const ByteAccount& account) {
  EndPart();
  FlowSummary all;
  // If one thread executed everything, the units are its own; for several the owner is unknown.
  if (parts_.size() == 1) {
    parts_.front().totals.bytes_decoded = account.decoded;
    parts_.front().totals.bytes_padding = account.padding;
    parts_.front().totals.bytes_lost = account.lost;
  }
  for (const FlowPart& part : parts_) all.Append(part.totals);
  all.parts = std::move(parts_);
  all.bytes_decoded = account.decoded;
  all.bytes_padding = account.padding;
  all.bytes_lost = account.lost;
  return all;
}

void SummedFlow::Add(const BlockRun& run) {
  Enter(run.stay);
  if (run.exit != BlockExit::kFallThrough) ++summary_.blocks;
  uint64_t ip = run.address;
  for (const uint8_t length : run.lengths) {
    summary_.digest.Append(ip);
    ip += length;
  }
  if (run.last == InstructionClass::kConditional && run.exit == BlockExit::kNotTaken)
    ++summary_.not_taken;
  else
    ++left_by_[static_cast<size_t>(run.last)];
  Note(run.tsc);
}

void SummedFlow::Enter(const ThreadStay* stay) {
  if (stay == stay_) return;
  if (summary_.digest.count != 0 || !summary_.losses.empty()) EndPart();
  stay_ = stay;
}

void SummedFlow::EndPart() {
  for (size_t i = 0; i < left_by_.size(); ++i)
    if (uint64_t* const counter = CounterOf(static_cast<InstructionClass>(i), summary_))
      *counter += left_by_[i];
  left_by_ = {};
  parts_.push_back({.stay = stay_, .totals = std::exchange(summary_, {})});
}

}  // namespace flowback
