// SPDX-License-Identifier: MIT
// Runs each hot loop once, warm, on a stream that is the same everywhere. guard.py counts the
// instructions of the functions called guard_*: so they have C names, and are never inlined.
#include <cstdio>
#include <memory>
#include <vector>

#include "decode/pt/native_decoder.h"
#include "decode/pt/packets/packet.h"
#include "flowback/decode/decoder.h"
#include "flowback/replay/call_stack.h"
#include "replay/branches/branch_sums.h"
#include "tests/support/flow_consumers.h"
#include "tests/support/generator/stream_generator.h"

namespace {

using namespace flowback;

// Something the compiler must compute.
uint64_t checksum = 0;

}  // namespace

extern "C" {

[[gnu::noinline]] void guard_lexing(const DecodeInput& input) {
  pt::PebsState pebs;
  pt::Packet packet;
  Bytes rest = input.bytes;
  while (const pt::ReadResult size = pt::ReadPacket(rest, pebs, packet)) {
    rest = rest.subspan(*size);
    checksum += packet.index();
  }
}

[[gnu::noinline]] void guard_counting_tnt(Decoder& decoder, const DecodeInput& input) {
  checksum += decoder.Summarize(input)->digest.hash;
}

[[gnu::noinline]] void guard_counting_tip(Decoder& decoder, const DecodeInput& input) {
  checksum += decoder.Summarize(input)->digest.hash * 3;  // no function is folded with another
}

[[gnu::noinline]] void guard_counting_cold(Decoder& decoder, const DecodeInput& input) {
  checksum += decoder.Summarize(input)->digest.hash;
}

[[gnu::noinline]] void guard_ranges(Decoder& decoder, const DecodeInput& input,
                                    ExecutionConsumer& sums) {
  checksum += decoder.Decode(input, sums)->decoded * 7;
}

[[gnu::noinline]] void guard_flow(Decoder& decoder, const DecodeInput& input,
                                  FlowCounter& counter) {
  checksum += decoder.Decode(input, counter)->decoded;
}

[[gnu::noinline]] void guard_flow_with_times(Decoder& decoder, const DecodeInput& input,
                                             FlowCounter& counter) {
  checksum += decoder.Decode(input, counter)->decoded * 3;
}

[[gnu::noinline]] void guard_calls(Decoder& decoder, const DecodeInput& input,
                                   ExecutionConsumer& calls) {
  checksum += decoder.Decode(input, calls)->decoded * 5;
}
}

namespace {

using testing::CodeShape;

// A stream as perf records by default: return compression, TSC and MTC.
struct Trace {
  testing::GeneratedStream stream;
  AddressSpaceHistory code;
  DecodeInput input;

  // The trace, `copies` times over: its random paths come again and again, as those of programs do.
  Trace(CodeShape shape, uint64_t instructions, int copies) {
    testing::GeneratorOptions options;
    options.seed = 4;
    options.instructions = instructions;
    options.shape = shape;
    options.functions = 40;
    options.tsc = options.mtc = true;
    options.psb_period = 16'384;
    stream = testing::GenerateStream(options);
    const std::vector<uint8_t> once = stream.bytes;
    for (int i = 1; i < copies; ++i)
      stream.bytes.insert(stream.bytes.end(), once.begin(), once.end());
    code = testing::CodeOf(stream);
    input.bytes = stream.bytes;
    input.code = &code;
    input.config = stream.config;
  }
};

void RunRanges() {
  const Trace trace(CodeShape::kTntDense, 80'000, 20);
  const std::unique_ptr<Decoder> decoder = pt::MakeNativeDecoder();
  BranchSums sums;
  checksum += decoder->Decode(trace.input, sums)->decoded;
  guard_ranges(*decoder, trace.input, sums);
  checksum += sums.Take().ranges.size();
}

void RunCounting(CodeShape shape, void (*guarded)(Decoder&, const DecodeInput&)) {
  const Trace trace(shape, 80'000, 20);
  const std::unique_ptr<Decoder> decoder = pt::MakeNativeDecoder();
  checksum += decoder->Summarize(trace.input)->digest.count;
  guarded(*decoder, trace.input);
}

// Functions of a quarter of a kilobyte.
class Functions final : public FunctionFinder {
 public:
  FunctionPiece Find(const AddressSpace*, uint64_t ip) override {
    const uint64_t begin = ip & ~uint64_t{0xff};
    return {.begin = begin, .end = begin + 0x100, .id = begin, .is_entry = true};
  }
};

// The calls of a flow.
class Calls final : public ExecutionConsumer, private CallListener {
 public:
  void OnBlock(const BlockRun& run) override { stack_.OnBlock(run); }
  void OnBlocks(const BlockBatch& batch) override { stack_.OnBlocks(batch); }
  void OnEvent(const TraceEvent& event) override { stack_.OnEvent(event); }
  void OnLoss(const DataLoss& loss) override { stack_.OnLoss(loss); }

 private:
  void OnEnter(const Call& call, size_t) override { checksum += call.entry_ip; }
  void OnExit(const Call& call, size_t, CallExit, uint64_t, const ExitTime&) override {
    checksum += call.self;
  }
  void OnGap(const UntracedGap&, size_t) override {}

  Functions functions_;
  CallStack stack_{functions_, *this};
};

void RunFlow() {
  Trace trace(CodeShape::kMixed, 400'000, 1);
  guard_lexing(trace.input);
  const std::unique_ptr<Decoder> decoder = pt::MakeNativeDecoder();
  guard_counting_cold(*decoder, trace.input);
  FlowCounter counter;
  checksum += decoder->Decode(trace.input, counter)->decoded;
  guard_flow(*decoder, trace.input, counter);
  trace.input.times = true;
  guard_flow_with_times(*decoder, trace.input, counter);
  checksum += counter.count();
  trace.input.times = false;
  Calls calls;
  guard_calls(*decoder, trace.input, calls);
}

}  // namespace

int main() {
  RunCounting(CodeShape::kTntDense, guard_counting_tnt);
  RunCounting(CodeShape::kTipDense, guard_counting_tip);
  RunRanges();
  RunFlow();
  std::printf("%llu\n", static_cast<unsigned long long>(checksum));
  return 0;
}
