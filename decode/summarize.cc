// SPDX-License-Identifier: MIT
// Totals of a stream for decoders that have no faster way than to decode all of it.
#include "flowback/decode/decoder.h"

namespace flowback {
namespace {

class Totals final : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun& run) override {
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
  void OnLoss(const DataLoss& loss) override { summary_.losses.push_back(loss); }

  FlowSummary Take(const ByteAccount& account) {
    summary_.bytes_decoded = account.decoded;
    summary_.bytes_padding = account.padding;
    summary_.bytes_lost = account.lost;
    return std::move(summary_);
  }

 private:
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

  FlowSummary summary_;
};

}  // namespace

Result<FlowSummary> Decoder::Summarize(const DecodeInput& input) {
  Totals totals;
  const Result<ByteAccount> account = Decode(input, totals);
  if (!account) return Fail(account.error());
  return totals.Take(*account);
}

}  // namespace flowback
