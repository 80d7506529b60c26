// SPDX-License-Identifier: MIT
#include "cli/decode/span_decoder.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "cli/listing/block_part.h"
#include "cli/text/status.h"
#include "flowback/model/block_batch.h"

namespace flowback::cli {
namespace {

class SpanFilter final : public ExecutionConsumer {
 public:
  SpanFilter(ExecutionConsumer& next, TimeSpan span, const TraceClock& clock,
             std::atomic<bool>& found)
      : next_(next), span_(span), clock_(clock), found_(found) {}

  void OnBlock(const BlockRun& run) override {
    if (run.tsc == 0 || Before(run.tsc)) return;
    past_end_ = Behind(run.tsc);
    size_t begin = 0;
    size_t end = run.lengths.size();
    while (begin < end && Before(run.TscOf(begin))) ++begin;
    while (end > begin && Behind(run.TscOf(end - 1))) --end;
    if (end == begin) return;
    Found();
    next_.OnBlock(PartOf(run, begin, end));
  }
  void OnBlocks(const BlockBatch& batch) override {
    const uint64_t first = batch.first_tsc();
    const uint64_t last = batch.last_tsc();
    if (last == 0 || Before(last)) return;
    if (first == 0 || Before(first) || Behind(last)) return ExecutionConsumer::OnBlocks(batch);
    Found();
    next_.OnBlocks(batch);
  }
  void OnEvent(const TraceEvent& event) override {
    if (Selected(event.tsc)) next_.OnEvent(event);
  }
  void OnLoss(const DataLoss& loss) override {
    if (loss.tsc == 0 || Selected(loss.tsc)) next_.OnLoss(loss);
  }
  bool Done() const override { return past_end_ || next_.Done(); }

 private:
  bool Before(uint64_t tsc) const { return clock_.Value(tsc) < span_.begin; }
  bool Behind(uint64_t tsc) const { return clock_.Value(tsc) > span_.end; }

  bool Selected(uint64_t tsc) {
    if (tsc == 0) return false;
    const uint64_t value = clock_.Value(tsc);
    // A stream's clock only goes forward: nothing behind the end will be wanted.
    past_end_ = value > span_.end;
    if (!span_.Contains(value)) return false;
    Found();
    return true;
  }

  // Decoders on other threads share it: it is written once only.
  void Found() {
    if (!found_any_) found_.store(true, std::memory_order_relaxed);
    found_any_ = true;
  }

  ExecutionConsumer& next_;
  TimeSpan span_;
  const TraceClock& clock_;
  std::atomic<bool>& found_;
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
  ContextFilter(ExecutionConsumer& next, TimeSpan span, const TraceClock& clock,
                std::atomic<bool>& found)
      : next_(next), span_(span), clock_(clock), found_(found) {}

  void OnBlock(const BlockRun& run) override {
    past_end_ = Look(run.tsc, run.tsc);
    next_.OnBlock(run);
  }
  void OnBlocks(const BlockBatch& batch) override {
    past_end_ = Look(batch.first_tsc(), batch.last_tsc());
    next_.OnBlocks(batch);
  }
  void OnEvent(const TraceEvent& event) override {
    Look(event.tsc, event.tsc);
    next_.OnEvent(event);
  }
  void OnLoss(const DataLoss& loss) override { next_.OnLoss(loss); }
  bool Done() const override { return past_end_ || next_.Done(); }

 private:
  // Whether the last of it lies behind the span.
  bool Look(uint64_t first, uint64_t last) {
    if (last == 0) return false;
    const bool found =
        clock_.Value(last) >= span_.begin && (first == 0 || clock_.Value(first) <= span_.end);
    if (found && !found_any_) found_.store(true, std::memory_order_relaxed);
    found_any_ |= found;
    return clock_.Value(last) > span_.end;
  }

  ExecutionConsumer& next_;
  TimeSpan span_;
  const TraceClock& clock_;
  std::atomic<bool>& found_;
  bool found_any_ = false;
  bool past_end_ = false;
};

class SpanDecoder final : public Decoder {
 public:
  SpanDecoder(std::unique_ptr<Decoder> decoder, const SpanNeeds& needs, const TraceClock& clock,
              std::atomic<bool>& found)
      : decoder_(std::move(decoder)), needs_(needs), clock_(clock), found_(found) {}

  Result<ByteAccount> Decode(const DecodeInput& input, ExecutionConsumer& consumer) override {
    if (needs_.context) return Filtered<ContextFilter>(input, consumer);
    return Filtered<SpanFilter>(input, consumer);
  }

 private:
  template <class Filter>
  Result<ByteAccount> Filtered(const DecodeInput& input, ExecutionConsumer& consumer) {
    Filter filter(consumer, needs_.span, clock_, found_);
    return decoder_->Decode(input, filter);
  }

  std::unique_ptr<Decoder> decoder_;
  SpanNeeds needs_;
  const TraceClock& clock_;
  std::atomic<bool>& found_;
};

}  // namespace

std::unique_ptr<Decoder> MakeSpanDecoder(std::unique_ptr<Decoder> decoder, const SpanNeeds& needs,
                                         const TraceClock& clock, std::atomic<bool>& found) {
  return std::make_unique<SpanDecoder>(std::move(decoder), needs, clock, found);
}

SpanRanges::SpanRanges(StreamInputs& inputs, const Recording& recording, const SpanNeeds& needs,
                       const TraceClock& clock) {
  const TimeSpan span = needs.span;
  const uint64_t run_up = needs.context ? kContext : kRunUp;
  const auto too_early = [&](uint64_t tsc) { return clock.Value(tsc) < span.begin; };
  const auto too_late = [&](uint64_t tsc) { return clock.Value(tsc) > span.end; };
  for (const Stream& stream : recording.streams) {
    of_stream_.push_back(RangeOfTimes(inputs.source(), stream, too_early, too_late, run_up));
    inputs.set_from(stream, of_stream_.back().begin);
  }
}

void WarnOfEmptySpan(const Recording& recording, const TraceClock& clock, TimeSpan span,
                     const ReaderOptions& options, bool unless_overlapping) {
  const std::optional<TimeSpan> trace = SpanOfRecording(recording, clock);
  const std::string start =
      fmt::format("{}: --time {}: nothing to show", options.InputName(), options.time);
  if (!trace) return Warn(start + ": the trace tells no times", {"leave --time out"});
  if (unless_overlapping && span.begin <= trace->end && span.end >= trace->begin) return;
  const auto text = [&](uint64_t value) {
    return clock.has_nanoseconds() ? SecondsText(value) : fmt::format("tsc:{}", value);
  };
  const std::string first = text(trace->begin);
  const std::string last = text(trace->end);
  Warn(fmt::format("{} in that time; the trace is from {} to {}", start, first, last),
       {fmt::format("--time {},{}, or per cent of it: --time 10%,20%", first, last)});
}

}  // namespace flowback::cli
