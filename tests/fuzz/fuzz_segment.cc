// SPDX-License-Identifier: MIT
// Decoding arbitrary bytes against arbitrary code: no crash, bounded work, every byte accounted
// for, and counting gives the same as delivering piece by piece. With both ways to go on after an
// error.
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/recorded/pt_config.h"
#include "decode/pt/native_decoder.h"
#include "decode/pt/packets/packet_writer.h"
#include "flowback/decode/decoder.h"
#include "tests/fuzz/segment_input.h"

namespace flowback::testing {
namespace {

void Check(bool holds) {
  if (!holds) std::abort();
}

class Adder : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun& run) override {
    uint64_t ip = run.address;
    for (uint8_t length : run.lengths) {
      Check(length > 0 && length <= 15);
      digest.Append(ip);
      ip += length;
    }
  }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss& loss) override {
    Check(loss.begin <= loss.end);
    Check(loss.begin >= last_end);
    last_end = loss.end;
    lost += loss.bytes();
  }

  FlowDigest digest;
  uint64_t lost = 0;
  uint64_t last_end = 0;
};

std::vector<uint8_t> TraceOf(const SegmentInput& input) {
  pt::PacketWriter writer;
  if ((input.options & SegmentInput::kBare) == 0) {
    const bool narrow = (input.options & SegmentInput::k32Bit) != 0;
    writer.Psb();
    writer.Write(pt::ModeExec{.cs_l = !narrow, .cs_d = narrow});
    writer.Write(pt::PsbEnd{});
    writer.TipPge(input.address());
  }
  std::vector<uint8_t> bytes = writer.Take();
  bytes.insert(bytes.end(), input.trace.begin(), input.trace.end());
  return bytes;
}

AddressSpaceHistory CodeOf(const SegmentInput& input) {
  auto space = std::make_shared<AddressSpace>();
  if (!input.image.empty()) {
    auto section =
        std::make_shared<CodeSection>("fuzzed", 0, input.image, nullptr, Verification::kGiven);
    space->Map({input.address(), input.image.size(), 0, std::move(section)});
  }
  AddressSpaceHistory history;
  history.epochs.push_back({.space = std::move(space)});
  return history;
}

// An upper bound: a packet has at most 47 outcomes, and between two of them the walk passes each
// instruction of the image, in each mode, no more than a few times.
uint64_t MostInstructions(size_t trace, size_t image) {
  constexpr uint64_t kOutcomesPerByte = 8;
  constexpr uint64_t kSuspiciousWalk = 64 * 256;
  return (trace + 1) * kOutcomesPerByte * (2 * image + kSuspiciousWalk);
}

void Run(const SegmentInput& input) {
  const std::vector<uint8_t> trace = TraceOf(input);
  const AddressSpaceHistory code = CodeOf(input);
  const std::unique_ptr<Decoder> decoder = pt::MakeNativeDecoder();
  for (const Resync resync : {Resync::kEarliest, Resync::kSyncPoint}) {
    DecodeInput decode;
    decode.bytes = trace;
    decode.code = &code;
    decode.resync = resync;
    if ((input.options & SegmentInput::kNoReturnCompression) != 0)
      decode.config.Make<PtConfig>().return_compression = false;
    Adder adder;
    const Result<ByteAccount> account = decoder->Decode(decode, adder);
    Check(account.has_value());
    Check(account->decoded <= trace.size() && account->padding <= trace.size());
    Check(account->decoded + account->padding + account->lost == trace.size());
    Check(account->lost == adder.lost && adder.last_end <= trace.size());
    Check(adder.digest.count <= MostInstructions(trace.size(), input.image.size()));
    const Result<FlowSummary> sum = decoder->Summarize(decode);
    Check(sum.has_value() && sum->digest == adder.digest);
    Check(sum->bytes_lost == account->lost && sum->bytes_padding == account->padding);
  }
}

}  // namespace
}  // namespace flowback::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  flowback::testing::SegmentInput input;
  // Exact copies, so that the address sanitizer sees a byte too many.
  const std::vector<uint8_t> copy(data, data + size);
  if (!flowback::testing::SegmentInput::Parse(copy, input)) return 0;
  const std::vector<uint8_t> image(input.image.begin(), input.image.end());
  input.image = image;
  flowback::testing::Run(input);
  return 0;
}
