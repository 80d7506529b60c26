// SPDX-License-Identifier: MIT
// Counting one stream on several threads; the sums are those of one thread, bit for bit. With a
// sink that counts blocks the counts of each part add up to the same; a part may be handed on in
// several calls.
//
// The stream is cut at PSBs. Workers take the segments in order, each with a block graph of its
// own; what they found is put together in order by the calling thread, which also decodes again
// what was begun with a wrong guess (flow_segments.h).
#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/threads.h"
#include "decode/effort.h"
#include "decode/pt/engine/flow_engine.h"
#include "decode/pt/engine/flow_segments.h"
#include "decode/pt/flow_names.h"
#include "decode/pt/memo/memo_cache.h"
#include "decode/pt/packets/psb.h"
#include "decode/pt/sinks/block_counting_sink.h"
#include "decode/pt/sinks/sinks.h"

namespace flowback::pt {

// Where the segments begin: 0, then PSBs at least `size` bytes apart. What two sides of a gap make
// up between them is no PSB.
inline std::vector<size_t> CutAtPsbs(const DecodeInput& input, size_t size) {
  const StreamWindow stream(input.bytes, input.joined);
  std::vector<size_t> begins = {0};
  for (size_t at = size; (at = FindPsbUnheld(stream, at)) < input.bytes.size();) {
    const auto gap = std::ranges::upper_bound(input.gaps, at, {}, &StreamGap::offset);
    if (gap != input.gaps.end() && gap->offset < at + Psb::kPattern.size()) {
      at = gap->offset;
      continue;
    }
    begins.push_back(at);
    at += size;
  }
  return begins;
}

// How often guesses had to be decoded again; for tests and tuning.
struct ParallelReport {
  size_t segments = 0;
  size_t again = 0;
};

template <FlowSink Sink>
class ParallelCounter {
 public:
  using Engine = FlowEngine<Sink>;

  // `memory` has one for each worker and one more for the calling thread. At most `at_once`
  // segments are in work or wait to be put together. A sink that counts blocks needs the consumer,
  // which the calling thread calls. REQUIRES: the input begins at 0.
  ParallelCounter(const DecodeInput& input, std::deque<CodeMemory>& memory, size_t segment_size,
                  size_t at_once, BlockCountConsumer* consumer = nullptr)
      : input_(input),
        memory_(memory),
        consumer_(consumer),
        begins_(CutAtPsbs(input, segment_size)),
        results_(begins_.size()),
        at_once_(at_once) {}

  FlowSummary Run() {
    Count();
    FlowSummary summary;
    for (const FlowPart& part : parts_) summary.FlowTotals::Append(part.totals);
    summary.bytes_decoded = account_.decoded;
    summary.bytes_padding = account_.padding;
    summary.bytes_lost = account_.lost;
    summary.first_tsc = first_tsc_;
    summary.last_tsc = carry_->state.clock_.tsc();
    if (!parts_.empty() && parts_.front().totals.first_tsc == 0)
      parts_.front().totals.first_tsc = first_tsc_;
    summary.parts = std::move(parts_);
    summary.effort = std::make_shared<const DecodeStatistics>(effort_);
    return summary;
  }
  ParallelReport report() const { return report_; }

 private:
  // Without a worker the calling thread decodes all segments itself.
  void Count() {
    std::vector<std::jthread> workers;
    try {
      StartThreads(workers, memory_.size() - 1, [this](size_t i) { Work(memory_[i]); });
      for (size_t i = 0; i < begins_.size(); ++i)
        workers.empty() ? Take(Decode(i, memory_.back(), carry_ ? &*carry_ : nullptr)) : Merge(i);
    } catch (...) {
      Stop(nullptr);  // the workers, which the vector waits for
      throw;
    }
  }

  struct Result {
    std::optional<typename Engine::Carry> guess;  // empty for the first segment
    std::optional<typename Engine::Carry> end;
    std::vector<FlowPart> parts;
    std::vector<PartCounts> counts;
    ByteAccount account;
    DecodeStatistics effort;
    bool done = false;
  };

  size_t EndOf(size_t segment) const {
    return segment + 1 < begins_.size() ? begins_[segment + 1] : input_.bytes.size();
  }

  // What a worker throws, std::bad_alloc, is thrown again by the calling thread.
  void Work(CodeMemory& memory) {
    try {
      DecodeSegments(memory);
    } catch (...) {
      Stop(std::current_exception());
    }
  }

  void Stop(std::exception_ptr failure) {
    const std::scoped_lock lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    next_ = begins_.size();
    may_begin_.notify_all();
    has_ended_.notify_all();
  }

  void DecodeSegments(CodeMemory& memory) {
    for (;;) {
      size_t segment;
      {
        std::unique_lock lock(mutex_);
        may_begin_.wait(lock,
                        [&] { return next_ >= begins_.size() || next_ < merged_ + at_once_; });
        if (next_ >= begins_.size()) return;
        segment = next_++;
      }
      Result result = Decode(segment, memory, nullptr);
      const std::scoped_lock lock(mutex_);
      results_[segment] = std::move(result);
      results_[segment].done = true;
      has_ended_.notify_one();
    }
  }

  // From the true state, or from the PSB+ alone.
  Result Decode(size_t segment, CodeMemory& memory, const typename Engine::Carry* from) {
    CodeView code(*input_.code, memory.graphs);
    Sink sink;
    Engine engine(input_, code, memory.memos, sink);
    Result result;
    if (from != nullptr) {
      engine.Restore(*from);
    } else if (segment == 0) {
      engine.Begin();
    } else {
      engine.BeginAtPsb(begins_[segment]);
      result.guess = engine.Save();
    }
    engine.RunTo(EndOf(segment));
    result.account = segment + 1 < begins_.size() ? engine.EndSegment() : engine.Finish();
    result.parts = sink.TakeParts();
    if constexpr (Sink::kCountsBlocks) result.counts = sink.TakeCounts();
    result.effort = sink.effort();
    result.end = engine.Save();
    return result;
  }

  void Merge(size_t segment) {
    Result result;
    {
      std::unique_lock lock(mutex_);
      has_ended_.wait(lock, [&] { return results_[segment].done || failure_; });
      if (failure_) std::rethrow_exception(failure_);
      result = std::move(results_[segment]);
      merged_ = segment + 1;
    }
    may_begin_.notify_all();
    ++report_.segments;
    if (segment != 0 && !SameFromHere(*carry_, *result.guess)) {
      ++report_.again;
      result = Decode(segment, memory_.back(), &*carry_);
    }
    Take(std::move(result));
  }

  void Take(Result result) {
    for (FlowPart& part : result.parts) Append(std::move(part));
    for (const PartCounts& part : result.counts) part.Tell(*consumer_);
    account_.decoded += result.account.decoded;
    account_.padding += result.account.padding;
    account_.lost += result.account.lost;
    effort_.Append(result.effort);
    carry_ = std::move(result.end);
    if (first_tsc_ == 0) first_tsc_ = carry_->state.clock_.first_tsc();
  }

  void Append(FlowPart part) {
    if (parts_.empty() || parts_.back().stay != part.stay) {
      parts_.push_back(std::move(part));
      return;
    }
    FlowPart& last = parts_.back();
    const uint64_t first_tsc = last.totals.first_tsc;  // 0, too: when the part began
    last.totals.Append(part.totals);
    last.totals.first_tsc = first_tsc;
    last.end = part.end;
  }

  const DecodeInput& input_;
  std::deque<CodeMemory>& memory_;
  BlockCountConsumer* const consumer_;
  const std::vector<size_t> begins_;
  std::vector<Result> results_;
  const size_t at_once_;

  std::mutex mutex_;
  std::condition_variable may_begin_;
  std::condition_variable has_ended_;
  std::exception_ptr failure_;
  size_t next_ = 0;
  size_t merged_ = 0;

  // State of the calling thread.
  std::optional<typename Engine::Carry> carry_;
  std::vector<FlowPart> parts_;
  ByteAccount account_;
  DecodeStatistics effort_;
  uint64_t first_tsc_ = 0;
  ParallelReport report_;
};

}  // namespace flowback::pt
