// SPDX-License-Identifier: MIT
#include "cli/span_decoder.h"

#include <utility>

namespace flowback::cli {
namespace {

class SpanFilter final : public ExecutionConsumer {
 public:
  SpanFilter(ExecutionConsumer& next, TimeSpan span, const TraceClock& clock)
      : next_(next), span_(span), clock_(clock) {}

  void OnBlock(const BlockRun& run) override {
    if (Selected(run.tsc)) next_.OnBlock(run);
  }
  void OnEvent(const TraceEvent& event) override {
    if (Selected(event.tsc)) next_.OnEvent(event);
  }
  void OnLoss(const DataLoss& loss) override {
    if (loss.tsc == 0 || Selected(loss.tsc)) next_.OnLoss(loss);
  }
  bool Done() const override { return past_end_ || next_.Done(); }

 private:
  bool Selected(uint64_t tsc) {
    if (tsc == 0) return false;
    const uint64_t value = clock_.Value(tsc);
    // A stream's clock only goes forward: nothing behind the end will be wanted.
    past_end_ = value > span_.end;
    return span_.Contains(value);
  }

  ExecutionConsumer& next_;
  TimeSpan span_;
  const TraceClock& clock_;
  bool past_end_ = false;
};

class SpanDecoder final : public Decoder {
 public:
  SpanDecoder(std::unique_ptr<Decoder> decoder, TimeSpan span, const TraceClock& clock)
      : decoder_(std::move(decoder)), span_(span), clock_(clock) {}

  Result<ByteAccount> Decode(const DecodeInput& input, ExecutionConsumer& consumer) override {
    SpanFilter filter(consumer, span_, clock_);
    return decoder_->Decode(input, filter);
  }

 private:
  std::unique_ptr<Decoder> decoder_;
  TimeSpan span_;
  const TraceClock& clock_;
};

}  // namespace

std::unique_ptr<Decoder> MakeSpanDecoder(std::unique_ptr<Decoder> decoder, TimeSpan span,
                                         const TraceClock& clock) {
  return std::make_unique<SpanDecoder>(std::move(decoder), span, clock);
}

}  // namespace flowback::cli
