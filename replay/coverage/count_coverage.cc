// SPDX-License-Identifier: MIT
#include <map>
#include <set>

#include "flowback/replay/coverage_counter.h"

namespace flowback {
namespace {

using Stays = std::set<const ThreadStay*>;  // null: all of the stream

// Passes on the counts of the stays that are wanted.
class CountsOfSome final : public BlockCountConsumer {
 public:
  CountsOfSome(const Stays& stays, BlockCountConsumer& next) : stays_(stays), next_(next) {}
  void OnCounts(const ThreadStay* stay, const BlockCounts& counts) override {
    if (stays_.contains(nullptr) || stays_.contains(stay)) next_.OnCounts(stay, counts);
  }

 private:
  const Stays& stays_;
  BlockCountConsumer& next_;
};

Status CountStream(const CoverageRequest& request, const Stream& stream, const Stays& stays,
                   Decoder& decoder, CoverageCounter& counter) {
  CountsOfSome some(stays, counter);
  counter.Begin(stream);
  const Result<FlowSummary> summary = decoder.Count(request.inputs.For(stream), some);
  if (!summary) return Fail(summary.error());
  const ByteAccount account{summary->bytes_decoded, summary->bytes_padding, summary->bytes_lost};
  if (request.check)
    if (Status status = request.check(account, stream); !status) return status;
  for (const FlowPart& part : summary->parts) {
    if (!stays.contains(nullptr) && !stays.contains(part.stay)) continue;
    counter.AddTotals(part.stay, part.totals);
    if (request.on_loss)
      for (const DataLoss& loss : part.totals.losses) request.on_loss(loss);
  }
  return {};
}

}  // namespace

Result<CoverageCounts> CountCoverage(const CoverageRequest& request) {
  std::map<const Stream*, Stays> wanted;
  for (const StreamOwner& owner : request.owners)
    for (const FlowPiece& piece : owner.pieces) wanted[piece.stream].insert(piece.stay);
  const Result<std::unique_ptr<Decoder>> decoder = request.make_decoder();
  if (!decoder) return Fail(decoder.error());
  CoverageCounter counter(request.recording, request.code, request.inputs);
  for (const Stream& stream : request.recording.streams)
    if (const auto stays = wanted.find(&stream); stays != wanted.end())
      if (Status status = CountStream(request, stream, stays->second, **decoder, counter); !status)
        return Fail(status.error());
  return counter.Take();
}

}  // namespace flowback
