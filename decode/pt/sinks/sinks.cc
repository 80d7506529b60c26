// SPDX-License-Identifier: MIT
#include "decode/pt/sinks/sinks.h"

#include "decode/effort.h"

namespace flowback::pt {

FlowTotals CountingSink::TakeTotals() {
  CountUses();
  auto of = [this](InstructionClass kind, BlockExit exit) { return uses_.exits.Of(kind, exit); };
  auto left = [&of](InstructionClass kind) {
    return of(kind, BlockExit::kTaken) + of(kind, BlockExit::kStopped);
  };
  FlowTotals summary;
  summary.digest = flow_;
  summary.taken = left(InstructionClass::kConditional);
  summary.not_taken = of(InstructionClass::kConditional, BlockExit::kNotTaken);
  summary.jumps = left(InstructionClass::kJump);
  summary.calls = left(InstructionClass::kCall);
  summary.indirect_jumps = left(InstructionClass::kIndirectJump);
  summary.indirect_calls = left(InstructionClass::kIndirectCall);
  summary.returns = left(InstructionClass::kReturn);
  summary.far = left(InstructionClass::kFarCall) + left(InstructionClass::kFarJump) +
                left(InstructionClass::kFarReturn);
  summary.blocks = left(InstructionClass::kOther) + summary.taken + summary.not_taken +
                   summary.jumps + summary.calls + summary.indirect_jumps + summary.indirect_calls +
                   summary.returns + summary.far;
  summary.losses = std::exchange(losses_.losses, {});
  retired_before_ += flow_.count;
  effort_.fast += uses_.exits.packets;
  flow_ = {};
  uses_.exits = {};
  return summary;
}

void CountingSink::Enter(const ThreadStay* stay, const PartMark& mark) {
  const bool anything = mark.offset != mark_.offset || flow_.count != 0 || !losses_.losses.empty();
  if (anything) {
    FlowPart& part = parts_.emplace_back();
    part.stay = SinkDefaults::stay();
    part.begin = mark_.offset;
    part.end = mark.offset;
    part.totals = TakeTotals();
    part.totals.bytes_padding = mark.padding - mark_.padding;
    part.totals.bytes_lost = mark.lost - mark_.lost;
    part.totals.bytes_decoded =
        part.end - part.begin - part.totals.bytes_padding - part.totals.bytes_lost;
    part.totals.first_tsc = mark_.tsc;
    part.totals.last_tsc = mark.tsc;
  }
  SinkDefaults::Enter(stay, mark);
  mark_ = mark;
}

void CountingSink::Restart(const PartMark& mark) {
  TakeTotals();
  parts_.clear();
  effort_ = {};
  mark_ = mark;
}

FlowSummary CountingSink::Summary() && {
  FlowSummary summary;
  for (const FlowPart& part : parts_) summary.Append(part.totals);
  summary.parts = std::move(parts_);
  summary.effort = std::make_shared<const DecodeStatistics>(effort_);
  return summary;
}

template <class Receiver>
void DeliveringSink<Receiver>::Part(const BlockGraph& graph, uint32_t id, unsigned count,
                                    const Moment& moment) {
  const NodeInfo& info = graph.info(id);
  uint64_t next = info.address;
  for (unsigned i = 0; i < count; ++i) next += info.block->lengths[i];
  Deliver(graph, id, count, InstructionClass::kOther, BlockExit::kFallThrough, next, moment);
}

template <class Receiver>
void DeliveringSink<Receiver>::Deliver(const BlockGraph& graph, uint32_t id, unsigned count,
                                       InstructionClass last, BlockExit exit, uint64_t next,
                                       const Moment& moment) {
  if (done_ || count == 0) return;
  BlockRun run = RunOf(graph, id, count);
  run.next = next;
  run.tsc = moment.tsc;
  run.exit = exit;
  run.last = last;
  run.in_transaction = moment.in_transaction;
  run.stay = this->stay();
  count_ += count;
  receiver_.OnBlock(run);
  this->UpdateDone();
}

template class DeliveringSink<ExecutionConsumer>;
template class DeliveringSink<TimeEstimator>;

}  // namespace flowback::pt
