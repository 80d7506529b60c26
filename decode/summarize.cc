// SPDX-License-Identifier: MIT
// Totals of a stream for decoders that have no faster way than to decode all of it.
#include <utility>

#include "flowback/decode/decoder.h"

namespace flowback {
namespace {

// Parts have no offsets: pieces of flow do not tell theirs.
class Totals final : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun& run) override {
    Enter(run.stay);
    if (run.exit != BlockExit::kFallThrough) ++summary_.blocks;
    uint64_t ip = run.address;
    for (const uint8_t length : run.lengths) {
      summary_.digest.Append(ip);
      ip += length;
    }
    CountBranch(run);
    Note(run.tsc);
  }
  void OnEvent(const TraceEvent& event) override { Note(event.tsc); }
  void OnLoss(const DataLoss& loss) override {
    Enter(loss.stay);
    DataLoss added = loss;
    added.after = summary_.digest.count;
    summary_.AddLoss(std::move(added));
  }

  FlowSummary Take(const ByteAccount& account) {
    parts_.push_back({.stay = stay_, .totals = std::move(summary_)});
    FlowSummary all;
    for (const FlowPart& part : parts_) all.Append(part.totals);
    all.parts = std::move(parts_);
    all.bytes_decoded = account.decoded;
    all.bytes_padding = account.padding;
    all.bytes_lost = account.lost;
    return all;
  }

 private:
  void Enter(const ThreadStay* stay) {
    if (stay == stay_) return;
    if (summary_.digest.count != 0 || !summary_.losses.empty())
      parts_.push_back({.stay = stay_, .totals = std::exchange(summary_, {})});
    stay_ = stay;
  }
  void CountBranch(const BlockRun& run) {
    switch (run.last) {
      case InstructionClass::kOther:
        break;
      case InstructionClass::kConditional:
        ++(run.exit == BlockExit::kNotTaken ? summary_.not_taken : summary_.taken);
        break;
      case InstructionClass::kJump:
        ++summary_.jumps;
        break;
      case InstructionClass::kCall:
        ++summary_.calls;
        break;
      case InstructionClass::kIndirectJump:
        ++summary_.indirect_jumps;
        break;
      case InstructionClass::kIndirectCall:
        ++summary_.indirect_calls;
        break;
      case InstructionClass::kReturn:
        ++summary_.returns;
        break;
      default:
        ++summary_.far;
        break;
    }
  }
  void Note(uint64_t tsc) {
    if (tsc == 0) return;
    if (summary_.first_tsc == 0) summary_.first_tsc = tsc;
    summary_.last_tsc = tsc;
  }

  FlowTotals summary_;  // of the part at hand
  const ThreadStay* stay_ = nullptr;
  std::vector<FlowPart> parts_;
};

}  // namespace

Result<std::unique_ptr<FlowReader>> Decoder::Read(const DecodeInput&) {
  return Fail(Error(ErrorCode::kUnsupported, "this decoder does not read a stream in segments")
                  .Remedy("use the decoder \"native\""));
}

Result<FlowSummary> Decoder::Summarize(const DecodeInput& input) {
  Totals totals;
  const Result<ByteAccount> account = Decode(input, totals);
  if (!account) return Fail(account.error());
  return totals.Take(*account);
}

}  // namespace flowback
