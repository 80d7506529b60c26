// SPDX-License-Identifier: MIT
#include "cli/reading/losses.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/text/status.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

std::string Percent(uint64_t part, uint64_t whole) {
  if (whole == 0 || part == 0) return "0 %";
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return percent < 0.01 ? "under 0.01 %" : fmt::format("{:.{}f} %", percent, percent < 1 ? 2 : 1);
}

}  // namespace

std::string LossText(const DataLoss& loss) {
  std::string text =
      fmt::format("loss: {}, {} bytes at offset {:#x}", Name(loss.cause), loss.bytes(), loss.begin);
  if (!loss.detail.empty()) text += ": " + Printable(loss.detail);
  return text;
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

// "1 x thread not known (125129 bytes of trace)"
std::string LossTally::CountText(LossCause cause) const {
  const Sum& sum = Of(cause);
  std::string text = fmt::format("{} x {}", sum.count, Name(cause));
  if (cause == LossCause::kThreadUnknown && nobodys_bytes_ != 0)
    return text + fmt::format(" ({} bytes of trace)", nobodys_bytes_);
  return sum.bytes == 0 ? text : text + fmt::format(" ({} bytes)", sum.bytes);
}

// What the losses are shares of, as far as they are: neither a lost record nor trace that is there
// and nobody's has a share of the bytes.
std::string LossTally::Shares() const {
  std::string text;
  const auto add = [&](const std::string& share) { text += (text.empty() ? "" : ", ") + share; };
  if (bytes() != 0)
    add(fmt::format("{} of the trace ({} of {} bytes)", Percent(bytes(), stream_bytes_), bytes(),
                    stream_bytes_));
  if (missing_bytes_ != 0)
    add(fmt::format("{} bytes of trace that are not in the file", missing_bytes_));
  uint64_t time = 0;
  for (const Sum& sum : sums_) AddSaturated(time, sum.count == 0 ? 0 : sum.time);
  if (time != 0)
    add(fmt::format("{} of the threads' time ({} of {} {})", Percent(time, lifetime_), time,
                    lifetime_, nanoseconds_ ? "ns" : "TSC ticks"));
  return text;
}

void LossTally::Warn(const std::string& file) const {
  if (count() == 0) return;
  std::string causes;
  std::vector<std::string> remedies;
  for (const LossCause cause : kAllLossCauses) {
    if (Of(cause).count == 0) continue;
    causes += (causes.empty() ? "" : ", ") + CountText(cause);
    remedies.push_back(fmt::format("{}: {}", Name(cause), Remedy(cause)));
  }
  const std::string shares = Shares();
  cli::Warn(fmt::format("{}: {}: {}", file, shares.empty() ? "losses" : "lost " + shares, causes),
            remedies);
}

void LossTally::Add(const LossTally& other) {
  for (const LossCause cause : kAllLossCauses) {
    Sum& sum = sums_[static_cast<size_t>(cause)];
    AddSaturated(sum.count, other.Of(cause).count);
    AddSaturated(sum.bytes, other.Of(cause).bytes);
    AddSaturated(sum.time, other.Of(cause).time);
  }
  AddSaturated(stream_bytes_, other.stream_bytes_);
  AddSaturated(missing_bytes_, other.missing_bytes_);
  AddSaturated(nobodys_bytes_, other.nobodys_bytes_);
  AddSaturated(lifetime_, other.lifetime_);
  damage_ += other.damage_;
}

// A warning without a remedy says that nothing is lacking.
void LossTally::AddRecording(const Recording& recording) {
  for (const Warning& warning : recording.warnings) damage_ += warning.remedy.empty() ? 0 : 1;
  for (const RecorderLoss& loss : recording.losses)
    AddSaturated(sums_[static_cast<size_t>(loss.cause)].count, loss.count);
  for (const Stream& stream : recording.streams) AddSaturated(missing_bytes_, stream.missing_bytes);
}

namespace {

// Who made the trace may be known and yet not when: decode/schedule/cpu_moves.h.
LossCause WhyNobodys(const StreamOwner& owner) {
  const ThreadStay* stay = owner.pieces.empty() ? nullptr : owner.pieces.front().stay;
  const bool one_thread = stay != nullptr && stay->first_tid >= 0 &&
                          stay->first_tid == stay->last_tid && stay->begin_bound == Bound::kOpen &&
                          stay->end_bound == Bound::kOpen;
  return one_thread ? LossCause::kNoTime : LossCause::kThreadUnknown;
}

}  // namespace

void LossTally::AddNobodys(const Threads& threads) {
  for (const StreamOwner& owner : threads.owners()) {
    if (!owner.shared || owner.stream->bytes.empty()) continue;
    const LossCause cause = WhyNobodys(owner);
    ++sums_[static_cast<size_t>(cause)].count;
    if (cause == LossCause::kNoTime) continue;
    for (const FlowPiece& piece : owner.pieces) nobodys_bytes_ += piece.end - piece.begin;
  }
}

void LossTally::AddTimes(const TimeAccounts& accounts) {
  nanoseconds_ = accounts.nanoseconds;
  for (const TimeAccount& account : accounts.threads) {
    AddSaturated(lifetime_, account.lifetime());
    for (const auto& [cause, time] : account.causes)
      AddSaturated(sums_[static_cast<size_t>(cause)].time, time);
  }
}

int LossTally::Status(bool strict) const {
  if (!strict || (damage_ == 0 && count() == 0)) return kDone;
  return Of(LossCause::kNoImage).count != 0 ? kImageIsMissing : kFinishedWithLosses;
}

}  // namespace flowback::cli
