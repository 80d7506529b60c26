// SPDX-License-Identifier: MIT
#include "flowback/replay/loss_tally.h"

#include <algorithm>

#include "base/saturated.h"

namespace flowback {
namespace {

// The thread that made a trace may be known, but not when it ran (decode/schedule/cpu_moves.h).
LossCause CauseOfUnattributed(const StreamOwner& owner) {
  const ThreadStay* stay = owner.pieces.empty() ? nullptr : owner.pieces.front().stay;
  const bool one_thread = stay != nullptr && stay->first_tid >= 0 &&
                          stay->first_tid == stay->last_tid && stay->begin_bound == Bound::kOpen &&
                          stay->end_bound == Bound::kOpen;
  return one_thread ? LossCause::kNoTime : LossCause::kThreadUnknown;
}

}  // namespace

void LossTally::Add(const DataLoss& loss) {
  Sum& sum = SumOf(loss.cause);
  AddSaturated(sum.count, loss.count);
  sum.bytes += loss.bytes();
  images_.Add(loss);
}

void LossTally::Add(const LossTally& other) {
  for (const LossCause cause : kAllLossCauses) {
    Sum& sum = SumOf(cause);
    AddSaturated(sum.count, other.Of(cause).count);
    AddSaturated(sum.bytes, other.Of(cause).bytes);
    AddSaturated(sum.time, other.Of(cause).time);
  }
  AddSaturated(stream_bytes_, other.stream_bytes_);
  AddSaturated(missing_bytes_, other.missing_bytes_);
  AddSaturated(unattributed_bytes_, other.unattributed_bytes_);
  AddSaturated(lifetime_, other.lifetime_);
  damage_ += other.damage_;
}

void LossTally::Add(const KeptLosses& sums) {
  for (const auto& [cause, more] : sums.causes) {
    Sum& sum = SumOf(cause);
    AddSaturated(sum.count, more.count);
    AddSaturated(sum.bytes, more.bytes);
  }
  AddSaturated(stream_bytes_, sums.trace_bytes);
  AddSaturated(missing_bytes_, sums.missing_bytes);
  AddSaturated(unattributed_bytes_, sums.unattributed_bytes);
  damage_ += sums.damage;
}

KeptLosses LossTally::Kept() const {
  KeptLosses sums{.causes = {},
                  .trace_bytes = stream_bytes_,
                  .missing_bytes = missing_bytes_,
                  .unattributed_bytes = unattributed_bytes_,
                  .damage = damage_};
  for (const LossCause cause : kAllLossCauses)
    sums.Add(cause, {.count = Of(cause).count, .bytes = Of(cause).bytes});
  return sums;
}

void LossTally::AddUnrecorded(uint64_t count) {
  AddSaturated(SumOf(LossCause::kRecordsLost).count, count);
}

// A warning without a remedy is no loss.
void LossTally::AddRecording(const Recording& recording) {
  for (const Warning& warning : recording.warnings) damage_ += warning.remedy.empty() ? 0 : 1;
  for (const RecorderLoss& loss : recording.losses)
    AddSaturated(SumOf(loss.cause).count, loss.count);
  for (const Stream& stream : recording.streams) AddSaturated(missing_bytes_, stream.missing_bytes);
}

void LossTally::AddUnattributed(const Threads& threads) {
  for (const StreamOwner& owner : threads.owners()) {
    if (!owner.shared || owner.stream->bytes.empty()) continue;
    const LossCause cause = CauseOfUnattributed(owner);
    ++SumOf(cause).count;
    if (cause == LossCause::kNoTime) continue;
    for (const FlowPiece& piece : owner.pieces) unattributed_bytes_ += piece.end - piece.begin;
  }
}

void LossTally::AddTimes(const TimeAccounts& accounts) {
  nanoseconds_ = accounts.nanoseconds;
  for (const TimeAccount& account : accounts.threads) {
    AddSaturated(lifetime_, account.lifetime());
    for (const auto& [cause, time] : account.causes) AddSaturated(SumOf(cause).time, time);
  }
}

bool LossTally::any() const { return std::ranges::any_of(sums_, &Sum::any); }

uint64_t LossTally::count() const {
  uint64_t total = 0;
  for (const Sum& sum : sums_) AddSaturated(total, sum.count);
  return total;
}

uint64_t LossTally::bytes() const {
  uint64_t total = 0;
  for (const Sum& sum : sums_) AddSaturated(total, sum.bytes);
  return total;
}

uint64_t LossTally::time() const {
  uint64_t total = 0;
  for (const Sum& sum : sums_) AddSaturated(total, sum.count == 0 ? 0 : sum.time);
  return total;
}

}  // namespace flowback
