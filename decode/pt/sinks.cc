// SPDX-License-Identifier: MIT
#include "decode/pt/sinks.h"

namespace flowback::pt {

FlowSummary CountingSink::Summary() && {
  auto of = [this](InstructionClass kind, BlockExit exit) {
    return exits_[static_cast<unsigned>(kind)][static_cast<unsigned>(exit)];
  };
  auto left = [&of](InstructionClass kind) {
    return of(kind, BlockExit::kTaken) + of(kind, BlockExit::kStopped);
  };
  FlowSummary summary;
  summary.digest = {count_, hash_};
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
  summary.losses = std::move(losses_);
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
  const NodeInfo& info = graph.info(id);
  BlockRun run;
  run.address = info.address;
  run.lengths = {info.block->lengths, count};
  run.next = next;
  run.tsc = moment.tsc;
  run.exit = exit;
  run.last = last;
  run.mode = graph.mode();
  run.in_transaction = moment.in_transaction;
  run.space = &graph.space();
  count_ += count;
  receiver_.OnBlock(run);
  done_ = receiver_.Done();
}

template class DeliveringSink<ExecutionConsumer>;
template class DeliveringSink<TimeEstimator>;

}  // namespace flowback::pt
