// SPDX-License-Identifier: MIT
// Streams that are too small to be cut among the threads are decoded beside each other, a stream
// by a thread; each of the others by all threads. Sums do not depend on the order in which they
// are added up, so neither does the result.
#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/threads.h"
#include "flowback/replay/coverage_counter.h"

namespace flowback {
namespace {

using Counters = std::vector<std::unique_ptr<CoverageCounter>>;

// The counter of each stay.
using CounterOfStay = std::map<const ThreadStay*, CoverageCounter*>;  // null: all of the stream

CoverageCounter* CounterFor(const CounterOfStay& counters, const ThreadStay* stay) {
  auto found = counters.find(nullptr);
  if (found == counters.end()) found = counters.find(stay);
  return found == counters.end() ? nullptr : found->second;
}

class StreamsCounting {
 public:
  StreamsCounting(const CoverageRequest& request,
                  const std::map<const Stream*, CounterOfStay>& wanted)
      : request_(request), wanted_(wanted), errors_(request.recording.streams.size()) {}

  // Errors: the error of the first stream that fails.
  Status Run();

 private:
  class Passing;

  void Divide();
  void Work();
  void CountSmall();
  Status Count(const Stream& stream, unsigned threads, Decoder& decoder);
  void AddTotals(const Stream& stream, const FlowSummary& summary, const CounterOfStay& counters);
  unsigned ThreadCount() const;

  const CoverageRequest& request_;
  const std::map<const Stream*, CounterOfStay>& wanted_;
  std::vector<const Stream*> large_;
  std::vector<const Stream*> small_;  // the largest first: so the last one is soon done
  std::atomic<size_t> next_ = 0;      // of the small ones
  std::vector<Status> errors_;        // by stream
  std::mutex mutex_;                  // over the counters, the receiver of losses, and
  std::exception_ptr failure_;
};

// Hands on the counts of the stays that are wanted.
class StreamsCounting::Passing final : public BlockCountConsumer {
 public:
  Passing(const Stream& stream, const CounterOfStay& counters, std::mutex& mutex)
      : stream_(stream), counters_(counters), mutex_(mutex) {}
  void OnCounts(const ThreadStay* stay, const BlockCounts& counts) override {
    CoverageCounter* const counter = CounterFor(counters_, stay);
    if (counter == nullptr) return;
    const std::scoped_lock lock(mutex_);
    counter->Begin(stream_);
    counter->OnCounts(stay, counts);
  }

 private:
  const Stream& stream_;
  const CounterOfStay& counters_;
  std::mutex& mutex_;
};

unsigned StreamsCounting::ThreadCount() const {
  const auto& streams = request_.recording.streams;
  return streams.empty() ? 1 : std::max(1U, request_.flow.inputs.For(streams.front()).threads);
}

void StreamsCounting::Divide() {
  constexpr uint64_t kAlwaysSmall = uint64_t{512} << 10;  // a decoder does not cut it
  constexpr uint64_t kShares = 4;                         // of each thread, at least
  uint64_t bytes = 0;
  for (const auto& [stream, counters] : wanted_) bytes += stream->bytes.size();
  const uint64_t most = std::max(kAlwaysSmall, bytes / (kShares * ThreadCount()));
  for (const Stream& stream : request_.recording.streams)
    if (wanted_.contains(&stream))
      (stream.bytes.size() <= most && ThreadCount() > 1 ? small_ : large_).push_back(&stream);
  std::ranges::stable_sort(small_, std::ranges::greater(),
                           [](const Stream* stream) { return stream->bytes.size(); });
}

Status StreamsCounting::Run() {
  Divide();
  if (!small_.empty()) {
    std::vector<std::jthread> others;
    StartThreads(others, std::min<size_t>(ThreadCount(), small_.size()) - 1,
                 [this](size_t) { Work(); });
    Work();
  }
  if (failure_) std::rethrow_exception(failure_);
  if (!large_.empty()) {
    const Result<std::unique_ptr<Decoder>> decoder = request_.flow.make_decoder();
    if (!decoder) return Fail(decoder.error());
    for (const Stream* stream : large_)
      errors_[stream->index] = Count(*stream, ThreadCount(), **decoder);
  }
  for (Status& error : errors_)
    if (!error) return std::move(error);
  return {};
}

// What a thread throws, std::bad_alloc, is thrown again by the calling one.
void StreamsCounting::Work() {
  try {
    CountSmall();
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    failure_ = std::current_exception();
    next_ = small_.size();
  }
}

void StreamsCounting::CountSmall() {
  const Result<std::unique_ptr<Decoder>> decoder = request_.flow.make_decoder();
  for (size_t i = 0; (i = next_.fetch_add(1)) < small_.size();)
    errors_[small_[i]->index] =
        decoder ? Count(*small_[i], 1, **decoder) : Status(Fail(decoder.error()));
}

Status StreamsCounting::Count(const Stream& stream, unsigned threads, Decoder& decoder) {
  const CounterOfStay& counters = wanted_.at(&stream);
  Passing passing(stream, counters, mutex_);
  DecodeInput input = request_.flow.inputs.For(stream);
  input.threads = threads;
  const Result<FlowSummary> summary = decoder.Count(input, passing);
  if (!summary) return Fail(summary.error());
  const ByteAccount account{summary->bytes_decoded, summary->bytes_padding, summary->bytes_lost};
  if (request_.check)
    if (Status status = request_.check(account, stream); !status) return status;
  const std::scoped_lock lock(mutex_);
  AddTotals(stream, *summary, counters);
  return {};
}

void StreamsCounting::AddTotals(const Stream& stream, const FlowSummary& summary,
                                const CounterOfStay& counters) {
  for (const FlowPart& part : summary.parts) {
    CoverageCounter* const counter = CounterFor(counters, part.stay);
    if (counter == nullptr) continue;
    counter->Begin(stream);
    counter->AddTotals(part.stay, part.totals);
    if (request_.on_loss)
      for (const DataLoss& loss : part.totals.losses) request_.on_loss(loss);
  }
}

// `number_of` returns the counter of the owner with a number.
template <class NumberOf>
Status CountInto(const CoverageRequest& request, const Counters& counters,
                 const NumberOf& number_of) {
  std::map<const Stream*, CounterOfStay> wanted;
  for (size_t i = 0; i < request.owners.size(); ++i)
    for (const FlowPiece& piece : request.owners[i].pieces)
      wanted[piece.stream].emplace(piece.stay, counters[number_of(i)].get());
  return StreamsCounting(request, wanted).Run();
}

Counters MakeCounters(const CoverageRequest& request, size_t count) {
  Counters counters;
  for (size_t i = 0; i < count; ++i)
    counters.push_back(
        std::make_unique<CoverageCounter>(request.recording, request.code, request.flow.inputs));
  return counters;
}

}  // namespace

Result<CoverageCounts> CountCoverage(const CoverageRequest& request) {
  const Counters counters = MakeCounters(request, 1);
  if (Status status = CountInto(request, counters, [](size_t) { return size_t{0}; }); !status)
    return Fail(status.error());
  return counters.front()->Take();
}

Result<std::vector<CoverageCounts>> CountCoverageByOwner(const CoverageRequest& request) {
  const Counters counters = MakeCounters(request, request.owners.size());
  if (Status status = CountInto(request, counters, [](size_t owner) { return owner; }); !status)
    return Fail(status.error());
  std::vector<CoverageCounts> counts;
  for (const auto& counter : counters) counts.push_back(counter->Take());
  return counts;
}

}  // namespace flowback
