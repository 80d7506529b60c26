// SPDX-License-Identifier: MIT
#include "replay/flow/stream_sums.h"

#include <optional>
#include <utility>

namespace flowback {
namespace {

// Passes on the counts of wanted stays.
class CountsOfStays final : public BlockCountConsumer {
 public:
  // `next` must outlive it.
  CountsOfStays(std::function<bool(const ThreadStay*)> wanted, BlockCountConsumer& next)
      : wanted_(std::move(wanted)), next_(next) {}
  void OnCounts(const ThreadStay* stay, const BlockCounts& counts) override {
    if (wanted_(stay)) next_.OnCounts(stay, counts);
  }

 private:
  std::function<bool(const ThreadStay*)> wanted_;
  BlockCountConsumer& next_;
};

}  // namespace

StreamSums::StreamSums(const Recording& recording, const StreamInputs& inputs,
                       const std::vector<StreamOwner>& owners, Check check)
    : recording_(recording), inputs_(inputs), owners_(owners), check_(std::move(check)) {
  for (const StreamOwner& owner : owners) pieces_.emplace_back(owner.pieces.size());
}

Status StreamSums::Add(Decoder& decoder, KeptSums& kept, BlockCountConsumer* counter) {
  std::map<const Stream*, Places> places;
  for (size_t owner = 0; owner < owners_.size(); ++owner)
    for (size_t i = 0; i < pieces_[owner].size(); ++i) {
      const FlowPiece& piece = owners_[owner].pieces[i];
      places[piece.stream].emplace(piece.stay, &pieces_[owner][i]);
    }
  for (const Stream& stream : recording_.streams)
    if (const auto of_stream = places.find(&stream); of_stream != places.end())
      if (Status status = AddStream(stream, of_stream->second, decoder, kept, counter); !status)
        return status;
  return {};
}

// Decodes the stream once and gives each piece its part of the totals.
Status StreamSums::AddStream(const Stream& stream, const Places& places, Decoder& decoder,
                             KeptSums& kept, BlockCountConsumer* counter) {
  std::optional<CountsOfStays> filter;
  const auto wanted = [&](const ThreadStay* stay) {
    return places.contains(nullptr) || places.contains(stay);
  };
  if (counter != nullptr) filter.emplace(wanted, *counter);
  Result<FlowSummary> summary =
      filter ? decoder.Count(inputs_.For(stream), *filter) : kept.Of(stream, decoder);
  if (!summary) return Fail(summary.error());
  const ByteAccount account{summary->bytes_decoded, summary->bytes_padding, summary->bytes_lost};
  if (check_)
    if (Status status = check_(account, stream); !status) return status;
  for (FlowPart& part : summary->parts) {
    const auto place = places.find(places.contains(nullptr) ? nullptr : part.stay);
    if (place != places.end()) place->second->Append(part.totals);
  }
  return {};
}

std::vector<StreamTotals> StreamSums::Take() const {
  std::vector<StreamTotals> all;
  for (size_t owner = 0; owner < owners_.size(); ++owner) {
    StreamTotals& totals = all.emplace_back(&owners_[owner], FlowSummary{});
    for (const FlowTotals& piece : pieces_[owner]) totals.summary.Append(piece);
  }
  return all;
}

}  // namespace flowback
