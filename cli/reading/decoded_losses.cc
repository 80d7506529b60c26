// SPDX-License-Identifier: MIT
#include "cli/reading/decoded_losses.h"

#include <map>
#include <set>

#include "cli/reading/kept_index.h"
#include "cli/reading/stream_report.h"

namespace flowback::cli {
namespace {

using Stays = std::set<const ThreadStay*>;  // null: all of the stream

// What the chosen threads have of each stream.
std::map<const Stream*, Stays> ChosenParts(const Threads& threads) {
  std::map<const Stream*, Stays> chosen;
  for (const StreamOwner& owner : threads.owners())
    for (const FlowPiece& piece : owner.pieces) chosen[piece.stream].insert(piece.stay);
  return chosen;
}

}  // namespace

Status DecodedLosses::AddTo(OpenedRecording& opened) {
  const std::map<const Stream*, Stays> chosen = ChosenParts(opened.threads());
  if (chosen.empty()) return {};
  Result<std::unique_ptr<Decoder>> decoder = opened.NewDecoder();
  if (!decoder) return Fail(decoder.error());
  sums_.emplace(opened.recording(), opened.inputs(), IndexCacheOf(opened));
  for (const Stream& stream : opened.recording().streams) {
    const auto stays = chosen.find(&stream);
    if (stays == chosen.end()) continue;
    const Result<FlowSummary> sum = sums_->Of(stream, **decoder);
    if (!sum) return Fail(sum.error());
    const ByteAccount account{sum->bytes_decoded, sum->bytes_padding, sum->bytes_lost};
    if (Status status = CheckAccount(account, stream, opened.source()->Unit()); !status)
      return status;
    for (const FlowPart& part : sum->parts)
      if (stays->second.contains(nullptr) || stays->second.contains(part.stay))
        for (const DataLoss& loss : part.totals.losses) opened.losses().Add(loss);
  }
  return {};
}

void DecodedLosses::Keep() const {
  if (sums_) sums_->Keep();
}

}  // namespace flowback::cli
