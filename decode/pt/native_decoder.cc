// SPDX-License-Identifier: MIT
#include "decode/pt/native_decoder.h"

#include "decode/pt/code_view.h"
#include "decode/pt/flow_bind.h"
#include "decode/pt/flow_engine.h"
#include "decode/pt/flow_packets.h"
#include "decode/pt/flow_sync.h"
#include "decode/pt/flow_walk.h"
#include "decode/pt/sinks.h"

namespace flowback::pt {
namespace {

Status Check(const DecodeInput& input) {
  if (input.code == nullptr || input.code->epochs.empty())
    return Fail(ErrorCode::kUsage, "no address space was given to decode against");
  return {};
}

class NativeDecoder final : public Decoder {
 public:
  Result<ByteAccount> Decode(const DecodeInput& input, ExecutionConsumer& consumer) override {
    if (Status status = Check(input); !status) return Fail(status.error());
    CodeView code(*input.code, graphs_);
    if (input.times) {
      TimeEstimator estimator(consumer, input.config);
      TimedSink sink(estimator);
      const ByteAccount account = FlowEngine<TimedSink>(input, code, sink).Run();
      estimator.Finish();
      return account;
    }
    ConsumerSink sink(consumer);
    return FlowEngine<ConsumerSink>(input, code, sink).Run();
  }

  Result<FlowSummary> Summarize(const DecodeInput& input) override {
    if (Status status = Check(input); !status) return Fail(status.error());
    CodeView code(*input.code, graphs_);
    CountingSink sink;
    FlowEngine<CountingSink> engine(input, code, sink);
    const ByteAccount account = engine.Run();
    FlowSummary summary = std::move(sink).Summary();
    summary.bytes_decoded = account.decoded;
    summary.bytes_padding = account.padding;
    summary.bytes_lost = account.lost;
    summary.first_tsc = engine.clock().first_tsc();
    summary.last_tsc = engine.clock().tsc();
    return summary;
  }

 private:
  GraphCache graphs_;
};

}  // namespace

std::unique_ptr<Decoder> MakeNativeDecoder() { return std::make_unique<NativeDecoder>(); }

}  // namespace flowback::pt
