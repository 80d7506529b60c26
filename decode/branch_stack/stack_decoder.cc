// SPDX-License-Identifier: MIT
#include "decode/branch_stack/stack_decoder.h"

#include "decode/branch_stack/stack_flow.h"

namespace flowback::branch_stack {
namespace {

Status Check(const DecodeInput& input) {
  if (input.code == nullptr || input.code->epochs.empty())
    return Fail(ErrorCode::kUsage, "no address space was given to decode against");
  return {};
}

class StackDecoder final : public Decoder {
 public:
  Result<ByteAccount> Decode(const DecodeInput& input, ExecutionConsumer& consumer) override {
    if (Status status = Check(input); !status) return Fail(status.error());
    StackFlow flow(input, learned_);
    flow.ReadTo(input.bytes.size(), consumer);
    return flow.account();
  }
  // Records have their times whether or not the code is there.
  Result<FlowSummary> Summarize(const DecodeInput& input) override {
    if (Status status = Check(input); !status) return Fail(status.error());
    StackFlow flow(input, learned_);
    LineTotals totals(learned_.lines);
    if (input.blocks && !input.only_branches) flow.TellLinesTo(totals);
    flow.ReadTo(input.bytes.size(), totals);
    FlowSummary summary = totals.Take(flow.account());
    NoteTimes(input, summary);
    return summary;
  }
  Result<FlowSummary> SummarizeTimed(const DecodeInput& input, ExecutionConsumer& events) override {
    Result<FlowSummary> summary = Decoder::SummarizeTimed(input, events);
    if (summary) NoteTimes(input, *summary);
    return summary;
  }
  Result<std::unique_ptr<FlowReader>> Read(const DecodeInput& input) override {
    if (Status status = Check(input); !status) return Fail(status.error());
    return std::make_unique<StackFlow>(input, learned_);
  }

 private:
  static void NoteTimes(const DecodeInput& input, FlowSummary& summary) {
    if (input.bytes.size() < input.from + kBranchRecordSize) return;
    const uint64_t last = input.bytes.size() / kBranchRecordSize - 1;
    StackRecords records(input.bytes, input.joined);
    const auto note = [&](FlowTotals& totals) {
      totals.first_tsc = records.At(input.from).told_time();
      totals.last_tsc = records.At(last * kBranchRecordSize).told_time();
    };
    note(summary);
    if (summary.parts.size() == 1) note(summary.parts.front().totals);
  }

  LearnedCode learned_;
};

}  // namespace

std::unique_ptr<Decoder> NewStackDecoder() { return std::make_unique<StackDecoder>(); }

}  // namespace flowback::branch_stack
