// SPDX-License-Identifier: MIT
#include "flowback/replay/span_decoder.h"

#include "base/block_part.h"
#include "flowback/model/block_batch.h"
#include "replay/flow/filtered_decoder.h"

namespace flowback {
namespace {

class SpanFilter final : public ExecutionConsumer {
 public:
  SpanFilter(TimeSpan span, const RecordingClock& clock, std::atomic<bool>& found)
      : span_(span), clock_(&clock), found_(&found) {}

  void PassTo(ExecutionConsumer& next) { next_ = &next; }
  bool is_over() const { return past_end_; }

  void OnBlock(const BlockRun& run) override {
    if (run.tsc == 0 || Before(run.tsc)) return;
    past_end_ = Behind(run.tsc);
    size_t begin = 0;
    size_t end = run.lengths.size();
    while (begin < end && Before(run.TscOf(begin))) ++begin;
    while (end > begin && Behind(run.TscOf(end - 1))) --end;
    if (end == begin) return;
    Found();
    next_->OnBlock(PartOf(run, begin, end));
  }
  void OnBlocks(const BlockBatch& batch) override {
    const uint64_t first = batch.first_tsc();
    const uint64_t last = batch.last_tsc();
    if (last == 0 || Before(last)) return;
    if (first == 0 || Before(first) || Behind(last)) return ExecutionConsumer::OnBlocks(batch);
    Found();
    next_->OnBlocks(batch);
  }
  void OnEvent(const TraceEvent& event) override {
    if (Selected(event.tsc)) next_->OnEvent(event);
  }
  void OnLoss(const DataLoss& loss) override {
    if (loss.tsc == 0 || Selected(loss.tsc)) next_->OnLoss(loss);
  }
  void OnUnknown(const UnknownFlow& unknown) override {
    if (unknown.tsc == 0 || Selected(unknown.tsc)) next_->OnUnknown(unknown);
  }
  bool Done() const override { return past_end_ || next_->Done(); }

 private:
  bool Before(uint64_t tsc) const { return clock_->Value(tsc) < span_.begin; }
  bool Behind(uint64_t tsc) const { return clock_->Value(tsc) > span_.end; }

  bool Selected(uint64_t tsc) {
    if (tsc == 0) return false;
    const uint64_t value = clock_->Value(tsc);
    // A stream's clock only goes forward: nothing behind the end will be wanted.
    past_end_ = value > span_.end;
    if (!span_.Contains(value)) return false;
    Found();
    return true;
  }

  // Decoders on other threads share it: it is written once only.
  void Found() {
    if (!found_any_) found_->store(true, std::memory_order_relaxed);
    found_any_ = true;
  }

  ExecutionConsumer* next_ = nullptr;
  TimeSpan span_;
  const RecordingClock* clock_;
  std::atomic<bool>* found_;
  bool found_any_ = false;
  bool past_end_ = false;
};

// Bytes of a stream ahead of a span in which the calls that it lies in are looked for. Following so
// much takes 0.1 s, and 2 s where a byte of trace is many blocks, as in gzip.
constexpr uint64_t kContext = uint64_t{4} << 20;

// Lets everything through until the span is over: a block behind it ends what lasted until there, a
// wait in the kernel for example. An event alone does not.
class ContextFilter final : public ExecutionConsumer {
 public:
  ContextFilter(TimeSpan span, const RecordingClock& clock, std::atomic<bool>& found)
      : span_(span), clock_(&clock), found_(&found) {}

  void PassTo(ExecutionConsumer& next) { next_ = &next; }
  bool is_over() const { return past_end_; }

  void OnBlock(const BlockRun& run) override {
    past_end_ = Look(run.tsc, run.tsc);
    next_->OnBlock(run);
  }
  void OnBlocks(const BlockBatch& batch) override {
    past_end_ = Look(batch.first_tsc(), batch.last_tsc());
    next_->OnBlocks(batch);
  }
  void OnEvent(const TraceEvent& event) override {
    Look(event.tsc, event.tsc);
    next_->OnEvent(event);
  }
  void OnLoss(const DataLoss& loss) override { next_->OnLoss(loss); }
  void OnUnknown(const UnknownFlow& unknown) override { next_->OnUnknown(unknown); }
  bool Done() const override { return past_end_ || next_->Done(); }

 private:
  // Whether the last of it lies behind the span.
  bool Look(uint64_t first, uint64_t last) {
    if (last == 0) return false;
    const bool found =
        clock_->Value(last) >= span_.begin && (first == 0 || clock_->Value(first) <= span_.end);
    if (found && !found_any_) found_->store(true, std::memory_order_relaxed);
    found_any_ |= found;
    return clock_->Value(last) > span_.end;
  }

  ExecutionConsumer* next_ = nullptr;
  TimeSpan span_;
  const RecordingClock* clock_;
  std::atomic<bool>* found_;
  bool found_any_ = false;
  bool past_end_ = false;
};

}  // namespace

std::unique_ptr<Decoder> MakeSpanDecoder(std::unique_ptr<Decoder> decoder, const SpanNeeds& needs,
                                         const RecordingClock& clock, std::atomic<bool>& found) {
  if (needs.context)
    return std::make_unique<FilteredDecoder<ContextFilter>>(
        std::move(decoder), ContextFilter(needs.span, clock, found));
  return std::make_unique<FilteredDecoder<SpanFilter>>(std::move(decoder),
                                                       SpanFilter(needs.span, clock, found));
}

SpanRanges::SpanRanges(StreamInputs& inputs, const Recording& recording, const SpanNeeds& needs,
                       const RecordingClock& clock) {
  const TimeSpan span = needs.span;
  const uint64_t run_up = needs.context ? kContext : kRunUp;
  const auto too_early = [&](uint64_t tsc) { return clock.Value(tsc) < span.begin; };
  const auto too_late = [&](uint64_t tsc) { return clock.Value(tsc) > span.end; };
  for (const Stream& stream : recording.streams) {
    of_stream_.push_back(RangeOfTimes(inputs.source(), stream, too_early, too_late, run_up));
    inputs.set_from(stream, of_stream_.back().begin);
  }
}

}  // namespace flowback
