// SPDX-License-Identifier: MIT
// Counts ranges of code (RangeConsumer) where the flow goes along paths of the memo, and hands on
// everything else block by block.
//
// A path's own ranges are counted with its uses. Two paths that follow each other have one range in
// common: it begins behind the last branch that was taken on the first path, and ends with the
// first one on the second path. That one is counted as the second path is taken.
#pragma once

#include <cstdint>
#include <span>

#include "decode/flow/range_counter.h"
#include "decode/pt/flow_names.h"
#include "decode/pt/sinks/batch_sink.h"
#include "decode/pt/sinks/forwarding_sink.h"
#include "decode/pt/sinks/sinks.h"
#include "flowback/model/execution.h"

namespace flowback::pt {

class RangeSink : public ForwardingSink<RangeSink, ExecutionConsumer, CountingSink> {
 public:
  static constexpr MemoContent kMemoContent = MemoContent::kUsesAndRanges;
  static constexpr bool kCountsRanges = true;
  static constexpr bool kWantsAddresses = true;
  static constexpr bool kWantsTimes = false;

  // `ranges` is the consumer's own.
  RangeSink(ExecutionConsumer& consumer, RangeConsumer& ranges)
      : Forwarding(consumer), counter_(ranges) {
    uses().ranges = &counter_;
  }
  RangeSink(const RangeSink&) = delete;
  RangeSink& operator=(const RangeSink&) = delete;

  using Run = BlockByBlock<RangeSink>;

  void Block(BlockGraph& graph, uint32_t id, const Node& node, BlockExit exit, uint64_t next,
             const Moment& moment) {
    EndRanges();
    CountingSink::Block(graph, id, node, exit, next, moment);
    BlockRun run = RunOf(graph, id, node.count);
    run.exit = exit;
    run.last = node.last;
    run.next = next;
    HandOn(run, moment);
  }
  void Part(BlockGraph& graph, uint32_t id, unsigned count, const Moment& moment) {
    if (count == 0) return;
    EndRanges();
    CountingSink::Part(graph, id, count, moment);
    BlockRun run = RunOf(graph, id, count);
    run.next = run.LastAddress() + run.lengths.back();
    HandOn(run, moment);
  }
  void Loss(const DataLoss& loss) {
    CountingSink::Loss(loss);
    Forwarding::Loss(loss);
  }
  void Enter(const ThreadStay* stay, const PartMark& mark) {
    EndRanges();
    CountingSink::Enter(stay, mark);
  }
  void TellFlow() { EndRanges(); }

  // ---- whole paths ----

  // They begin at node `id`.
  void BeginPaths(BlockGraph& graph, uint32_t id, const Moment& moment) {
    if (open_ != 0 && (graph_ != &graph || at_ != id)) EndRanges();
    graph_ = &graph;
    counter_.Use(graph);
    moment_ = moment;
  }
  // They end at node `id`.
  void EndPaths(uint32_t id) { at_ = id; }
  // The flow goes along a path.
  template <class Packets>
  [[gnu::always_inline]] void OnPath(PathMemo& memo, const Path<Packets>& path) {
    SharedEnds& ends = memo.EndsOf(path);
    if (open_ == 0) [[unlikely]]
      return Begin(memo.StepsOf(path), path.next.node(), ends);
    end_ = ends.step;
    if (ends.last == 0) return;
    if (ends.before != open_) [[unlikely]]
      ends.Change(open_, counter_);
    ++ends.times;
    open_ = ends.open;
  }
  // The path's first use since uses were counted. Its ranges are handed on now, so that a consumer
  // gets new ones in the order of the flow.
  template <class Packets>
  [[gnu::noinline]] void Use(PathMemo& memo, const Path<Packets>& path) {
    counter_.AddWithin(memo.StepsOf(path), path.next.node(), 0);
    CountingSink::Use(memo, path);
  }

  // All has been decoded.
  void Finish() {
    EndRanges();
    CountUses();
    counter_.Finish();
  }

 private:
  using Forwarding = ForwardingSink<RangeSink, ExecutionConsumer, CountingSink>;

  // Hands on a path's steps as far as the first one that was taken.
  [[gnu::noinline]] void Begin(std::span<const BlockStep> steps, uint32_t next,
                               const PathEnds& ends) {
    for (size_t i = 0; i < steps.size(); ++i) {
      const BlockStep step = steps[i];
      const Node& node = graph_->node(step.number());
      BlockRun run = RunOf(*graph_, step.number(), node.count);
      run.exit = ExitOf(node.last, step.taken());
      run.last = node.last;
      run.next = graph_->info(i + 1 < steps.size() ? steps[i + 1].number() : next).address;
      HandOn(run, moment_);
      if (step.taken()) break;
    }
    open_ = ends.open;
    end_ = ends.step;
  }
  void HandOn(BlockRun& run, const Moment& moment) {
    if (done_) return;
    run.tsc = moment.tsc;
    run.in_transaction = moment.in_transaction;
    run.stay = stay();
    receiver_.OnBlock(run);
    UpdateDone();
  }
  void EndRanges() {
    if (open_ == 0) return;
    counter_.Use(*graph_);
    if (!done_) counter_.End(open_, BlockStep{end_}, graph_->info(at_).address);
    open_ = 0;
  }

  flow::RangeCounter counter_;
  BlockGraph* graph_ = nullptr;
  Moment moment_;
  uint32_t at_ = 0;    // where control stands behind the paths
  uint32_t open_ = 0;  // the block with which the range at hand begins; 0: the consumer knows
  uint32_t end_ = 0;   // BlockStep::value of the last step on the paths
};

}  // namespace flowback::pt
