// SPDX-License-Identifier: MIT
// What a session knows of losses, and what it keeps in the cache.
#include <map>
#include <set>
#include <utility>

#include "base/mapped_file.h"
#include "replay/account/laws.h"
#include "replay/flow/index_disk.h"
#include "replay/flow/index_key.h"
#include "replay/session/session_impl.h"

namespace flowback {
namespace {

using Stays = std::set<const ThreadStay*>;  // null: all of the stream

// Returns the parts of each stream that are the threads'.
std::map<const Stream*, Stays> PartsOf(const Threads& threads) {
  std::map<const Stream*, Stays> parts;
  for (const StreamOwner& owner : threads.owners())
    for (const FlowPiece& piece : owner.pieces) parts[piece.stream].insert(piece.stay);
  return parts;
}

// The size of trace from which on looking into the cache pays. Decoding 4 MB takes 20 ms or more,
// and making the recording's key three. A timeline costs several times as much as decoding. The
// index of 16 MB takes more than the quarter of a second from which on it is written.
constexpr uint64_t kLongTrace = uint64_t{16} << 20;

constexpr uint64_t LeastTrace(CachedResult result) {
  switch (result) {
    case CachedResult::kIndex:
      return 0;
    case CachedResult::kSums:
      return uint64_t{4} << 20;
    case CachedResult::kTimeline:
      return uint64_t{1} << 19;
    case CachedResult::kLasting:
      return kLongTrace;
  }
  return 0;
}

}  // namespace

LossTally& Session::losses() { return impl_->losses; }
const LossTally& Session::losses() const { return impl_->losses; }

void Session::AddRecordedLosses() {
  if (!impl_->recorded_losses_known) impl_->losses.AddRecording(impl_->recording);
  impl_->recorded_losses_known = true;
}

void Session::AddKnownLosses() {
  AddRecordedLosses();
  impl_->losses.AddUnattributed(impl_->threads);
  impl_->losses.AddStreamBytes(SelectedBytes());
}

Status Session::FindLosses() {
  const std::map<const Stream*, Stays> selected = PartsOf(threads());
  if (selected.empty()) return {};
  Result<std::unique_ptr<Decoder>> decoder = NewDecoder();
  if (!decoder) return Fail(decoder.error());
  KeptSums& sums = impl_->sums.emplace(recording(), inputs(), CacheFor(CachedResult::kSums));
  for (const Stream& stream : recording().streams) {
    const auto stays = selected.find(&stream);
    if (stays == selected.end()) continue;
    const Result<FlowSummary> sum = sums.Of(stream, **decoder);
    if (!sum) return Fail(sum.error());
    const ByteAccount account{sum->bytes_decoded, sum->bytes_padding, sum->bytes_lost};
    if (Status status = CheckAccount(account, stream, source().Unit()); !status) return status;
    for (const FlowPart& part : sum->parts)
      if (stays->second.contains(nullptr) || stays->second.contains(part.stay))
        for (const DataLoss& loss : part.totals.losses) losses().Add(loss);
  }
  return {};
}

IndexCache Session::CacheFor(CachedResult result) const {
  const SessionOptions& options = impl_->options;
  if (!options.index || options.search.cache.empty() || options.engine != "native" ||
      trace_bytes() < LeastTrace(result))
    return {};
  IndexCache cache{.folder = options.search.cache, .most_bytes = options.search.cache_bytes};
  cache.key = IndexKey(recording(), code(), inputs(), {});
  const bool may_store =
      result != CachedResult::kLasting || (IsUsable(cache) && DiskOf(cache).MayStore());
  return may_store ? cache : IndexCache();
}

bool Session::HasLongTrace() const { return trace_bytes() >= kLongTrace; }

bool Session::MayKeepResults() const {
  return code().ModeConflicts().empty() && code().UnusedImages().empty() && !code().CacheRefusal();
}

void Session::Keep(const std::function<void()>& keep_more) const {
  if (!impl_->code || !CheckWhole(impl_->code->files())) return;
  impl_->code->KeepBlocks();
  if (impl_->lines) impl_->lines->Keep();
  if (impl_->sums && MayKeepResults()) impl_->sums->Keep();
  if (keep_more) keep_more();
}

}  // namespace flowback
