// SPDX-License-Identifier: MIT
#include "cli/reading/losses.h"

#include <fmt/format.h>

#include <vector>

#include "cli/text/status.h"
#include "replay/writers/text/counted.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

std::string Percent(uint64_t part, uint64_t whole) {
  if (whole == 0 || part == 0) return "0 %";
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return percent < 0.01 ? "under 0.01 %" : fmt::format("{:.{}f} %", percent, percent < 1 ? 2 : 1);
}

// "1 x thread not known (125129 bytes of trace)"
std::string CountText(const LossTally& losses, LossCause cause) {
  const LossTally::Sum& sum = losses.Of(cause);
  const std::string text = fmt::format("{} x {}", sum.count, Name(cause));
  if (cause == LossCause::kThreadUnknown && losses.unattributed_bytes() != 0)
    return text + fmt::format(" ({} bytes of trace)", losses.unattributed_bytes());
  return sum.bytes == 0 ? text : text + fmt::format(" ({} bytes)", sum.bytes);
}

// Returns the losses as shares of bytes and time. Lost records have no share, nor has trace that is
// there but whose thread is unknown.
std::string Shares(const LossTally& losses) {
  std::string text;
  const auto add = [&](const std::string& share) { text += (text.empty() ? "" : ", ") + share; };
  const uint64_t bytes = losses.bytes();
  if (bytes != 0)
    add(fmt::format("{} of the trace ({} of {} bytes)", Percent(bytes, losses.stream_bytes()),
                    bytes, losses.stream_bytes()));
  if (losses.missing_bytes() != 0)
    add(fmt::format(
        "{} {} not in the file", losses.missing_bytes(),
        ByCount(losses.missing_bytes(), "byte of trace that is", "bytes of trace that are")));
  const uint64_t time = losses.time();
  if (time != 0)
    add(fmt::format("{} of the threads' time ({} of {} {})", Percent(time, losses.lifetime()), time,
                    losses.lifetime(), losses.nanoseconds() ? "ns" : "TSC ticks"));
  return text;
}

}  // namespace

std::string LossText(const DataLoss& loss) {
  std::string text =
      fmt::format("loss: {}, {} bytes at offset {:#x}", Name(loss.cause), loss.bytes(), loss.begin);
  if (!loss.detail.empty()) text += ": " + Printable(loss.detail);
  return text;
}

void WarnOfLosses(const LossTally& losses, const std::string& file) {
  if (losses.count() == 0) return;
  std::string causes;
  std::vector<std::string> remedies;
  for (const LossCause cause : kAllLossCauses) {
    if (losses.Of(cause).count == 0) continue;
    causes += (causes.empty() ? "" : ", ") + CountText(losses, cause);
    remedies.push_back(fmt::format("{}: {}", Name(cause), Remedy(cause)));
  }
  const std::string shares = Shares(losses);
  Warn(fmt::format("{}: {}: {}", file, shares.empty() ? "losses" : "lost " + shares, causes),
       remedies);
}

int StatusOf(const LossTally& losses, bool strict) {
  if (!strict || (losses.damage() == 0 && losses.count() == 0)) return kDone;
  return losses.Of(LossCause::kNoImage).count != 0 ? kImageIsMissing : kFinishedWithLosses;
}

std::string_view InFoundFiles(const LossTally& losses) {
  return losses.Of(LossCause::kNoImage).count != 0 ? " in the files that were found" : "";
}

}  // namespace flowback::cli
