// SPDX-License-Identifier: MIT
#include "cli/losses.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/status.h"

namespace flowback::cli {
namespace {

std::string Percent(uint64_t part, uint64_t whole) {
  if (whole == 0 || part == 0) return "0 %";
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return percent < 0.01 ? "under 0.01 %" : fmt::format("{:.{}f} %", percent, percent < 1 ? 2 : 1);
}

}  // namespace

std::string LossText(const DataLoss& loss) {
  std::string text = fmt::format("loss: {}, {} bytes at offset {:#x}", Name(loss.cause),
                                 loss.end - loss.begin, loss.begin);
  if (!loss.detail.empty()) text += ": " + loss.detail;
  return text;
}

bool LossTally::any() const { return std::ranges::any_of(sums_, &Sum::any); }

uint64_t LossTally::count() const {
  uint64_t total = 0;
  for (const Sum& sum : sums_) total += sum.count;
  return total;
}

uint64_t LossTally::bytes() const {
  uint64_t total = 0;
  for (const Sum& sum : sums_) total += sum.bytes;
  return total;
}

void LossTally::Warn(const std::string& file) const {
  if (count() == 0) return;
  std::string causes;
  std::string remedies;
  for (const LossCause cause : kAllLossCauses) {
    const Sum& sum = Of(cause);
    if (sum.count == 0) continue;
    causes += fmt::format("{}{} x {} ({} bytes)", causes.empty() ? "" : ", ", sum.count,
                          Name(cause), sum.bytes);
    remedies += fmt::format("\n  try: {}: {}", Name(cause), Remedy(cause));
  }
  cli::Warn(fmt::format("{}: lost {} of the trace ({} of {} bytes): {}{}", file,
                        Percent(bytes(), stream_bytes_), bytes(), stream_bytes_, causes, remedies));
}

// A warning without a remedy says that nothing is lacking.
void LossTally::AddRecording(const Recording& recording) {
  for (const Warning& warning : recording.warnings) damage_ += warning.remedy.empty() ? 0 : 1;
  for (const RecorderLoss& loss : recording.losses)
    sums_[static_cast<size_t>(loss.cause)].count += loss.count;
}

void LossTally::AddTimes(const TimeAccounts& accounts) {
  for (const TimeAccount& account : accounts.threads)
    for (const auto& [cause, time] : account.causes) sums_[static_cast<size_t>(cause)].time += time;
}

int LossTally::Status(bool strict) const {
  if (!strict || (damage_ == 0 && !any())) return kDone;
  return Of(LossCause::kNoImage).count != 0 ? kImageIsMissing : kFinishedWithLosses;
}

}  // namespace flowback::cli
