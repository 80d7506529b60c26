// SPDX-License-Identifier: MIT
#include "replay/flow/flow_in_span.h"

#include <memory>

#include "base/block_part.h"
#include "flowback/decode/decoder.h"
#include "flowback/model/block_batch.h"
#include "replay/flow/filtered_decoder.h"

namespace flowback {
namespace {

// What both ways to listen to a span have in common: the span, and whether anything lay in it. They
// differ in what they pass on. It is over once something is known to lie behind the span: a
// stream's clock only goes forward.
class FilterOfSpan : public ExecutionConsumer {
 public:
  FilterOfSpan(TimeSpan span, const RecordingClock& clock, std::atomic<bool>& found)
      : span_(span), clock_(&clock), found_(&found) {}

  void PassTo(ExecutionConsumer& next) { next_ = &next; }
  bool is_over() const { return over_; }
  bool Done() const override { return over_ || next_->Done(); }

 protected:
  bool Before(uint64_t tsc) const { return clock_->Value(tsc) < span_.begin; }
  bool Behind(uint64_t tsc) const { return clock_->Value(tsc) > span_.end; }
  void set_over(bool over) { over_ = over; }
  // Decoders on other threads share it: it is written once only.
  void Found() {
    if (!found_any_) found_->store(true, std::memory_order_relaxed);
    found_any_ = true;
  }
  ExecutionConsumer& next() const { return *next_; }

 private:
  ExecutionConsumer* next_ = nullptr;
  TimeSpan span_;
  const RecordingClock* clock_;
  std::atomic<bool>* found_;
  bool found_any_ = false;
  bool over_ = false;
};

// Passes on what lies in the span, to the instruction.
class SpanFilter final : public FilterOfSpan {
 public:
  using FilterOfSpan::FilterOfSpan;

  void OnBlock(const BlockRun& run) override {
    if (run.tsc == 0 || Before(run.tsc)) return;
    set_over(Behind(run.tsc));
    size_t begin = 0;
    size_t end = run.lengths.size();
    while (begin < end && Before(run.TscOf(begin))) ++begin;
    while (end > begin && Behind(run.TscOf(end - 1))) --end;
    if (end == begin) return;
    Found();
    next().OnBlock(PartOf(run, begin, end));
  }
  void OnBlocks(const BlockBatch& batch) override {
    const uint64_t first = batch.first_tsc();
    const uint64_t last = batch.last_tsc();
    if (last == 0 || Before(last)) return;
    if (first == 0 || Before(first) || Behind(last)) return ExecutionConsumer::OnBlocks(batch);
    Found();
    next().OnBlocks(batch);
  }
  void OnEvent(const TraceEvent& event) override {
    if (Selected(event.tsc)) next().OnEvent(event);
  }
  void OnLoss(const DataLoss& loss) override {
    if (loss.tsc == 0 || Selected(loss.tsc)) next().OnLoss(loss);
  }
  void OnUnknown(const UnknownFlow& unknown) override {
    if (unknown.tsc == 0 || Selected(unknown.tsc)) next().OnUnknown(unknown);
  }

 private:
  bool Selected(uint64_t tsc) {
    if (tsc == 0) return false;
    set_over(Behind(tsc));
    if (Before(tsc) || Behind(tsc)) return false;
    Found();
    return true;
  }
};

// Bytes of a stream ahead of a span in which the calls that it lies in are looked for. Following so
// much takes 0.1 s, and 2 s where a byte of trace is many blocks, as in gzip.
constexpr uint64_t kContext = uint64_t{4} << 20;

// Lets everything through until the span is over: a block behind it ends what lasted until there, a
// wait in the kernel for example. An event alone does not.
class ContextFilter final : public FilterOfSpan {
 public:
  using FilterOfSpan::FilterOfSpan;

  void OnBlock(const BlockRun& run) override {
    Look(run.tsc, run.tsc);
    set_over(run.tsc != 0 && Behind(run.tsc));
    next().OnBlock(run);
  }
  void OnBlocks(const BlockBatch& batch) override {
    Look(batch.first_tsc(), batch.last_tsc());
    set_over(batch.last_tsc() != 0 && Behind(batch.last_tsc()));
    next().OnBlocks(batch);
  }
  void OnEvent(const TraceEvent& event) override {
    Look(event.tsc, event.tsc);
    next().OnEvent(event);
  }
  void OnLoss(const DataLoss& loss) override { next().OnLoss(loss); }
  void OnUnknown(const UnknownFlow& unknown) override { next().OnUnknown(unknown); }

 private:
  void Look(uint64_t first, uint64_t last) {
    if (last != 0 && !Before(last) && (first == 0 || !Behind(first))) Found();
  }
};

// `found` becomes true with the first item in the span.
std::unique_ptr<Decoder> MakeSpanDecoder(std::unique_ptr<Decoder> decoder, const SpanNeeds& needs,
                                         const RecordingClock& clock, std::atomic<bool>& found) {
  if (needs.context)
    return std::make_unique<FilteredDecoder<ContextFilter>>(
        std::move(decoder), ContextFilter(needs.span, clock, found));
  return std::make_unique<FilteredDecoder<SpanFilter>>(std::move(decoder),
                                                       SpanFilter(needs.span, clock, found));
}

}  // namespace

void FlowInSpan::SkipRest(StreamInputs& inputs, const Recording& recording) {
  const TimeSpan span = needs_.span;
  const uint64_t run_up = needs_.context ? kContext : kRunUp;
  const auto too_early = [&](uint64_t tsc) { return clock_.Value(tsc) < span.begin; };
  const auto too_late = [&](uint64_t tsc) { return clock_.Value(tsc) > span.end; };
  ranges_.clear();
  for (const Stream& stream : recording.streams) {
    ranges_.push_back(RangeOfTimes(inputs.source(), stream, too_early, too_late, run_up));
    inputs.set_from(stream, ranges_.back().begin);
  }
}

bool FlowInSpan::Reaches(const FlowPiece& piece) const {
  const StreamRange& range = ranges_[piece.stream->index];
  return piece.end > range.begin && piece.begin < range.end;
}

FlowSource FlowInSpan::Source() {
  FlowSource flow{.inputs = whole_.inputs, .make_decoder = [this] {
                    Result<std::unique_ptr<Decoder>> decoder = whole_.make_decoder();
                    if (decoder)
                      decoder = MakeSpanDecoder(*std::move(decoder), needs_, clock_, found_);
                    return decoder;
                  }};
  if (!ranges_.empty())
    flow.piece_filter = [this](const FlowPiece& piece) { return Reaches(piece); };
  return flow;
}

}  // namespace flowback
