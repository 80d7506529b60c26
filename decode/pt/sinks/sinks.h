// SPDX-License-Identifier: MIT
// The sinks of the flow engine that count, and those that hand on block by block.
//
// batch_sink.h is the faster way to hand on a flow; block_counting_sink.h and event_sink.h serve
// those who want less than all of it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "decode/effort.h"
#include "decode/pt/flow_names.h"
#include "decode/pt/memo/path_memo.h"
#include "decode/pt/sinks/flow_sink.h"
#include "decode/pt/sinks/forwarding_sink.h"
#include "decode/pt/time/time_estimator.h"
#include "flowback/base/flow_digest.h"
#include "flowback/decode/decoder.h"
#include "flowback/model/execution.h"

namespace flowback::pt {

// Sums up without looking at addresses: every node carries its block's digest and counts.
class CountingSink : public SinkDefaults<CountingSink> {
 public:
  static constexpr bool kMemoises = true;
  static constexpr bool kCountsUses = true;

  void Block(const BlockGraph&, uint32_t, const Node& node, BlockExit exit, uint64_t,
             const Moment&) {
    flow_.hash = flow_.hash * node.power + node.hash;
    flow_.count += node.count;
    ++uses_.exits.Of(node.last, exit);
  }

  // The same for blocks in a row, with the sums in registers: if they went through memory, each
  // block would wait for the one before it. The sums are put back when the Run is destroyed.
  class Run {
   public:
    explicit Run(CountingSink& sink)
        : sink_(sink), hash_(sink.flow_.hash), count_(sink.flow_.count) {}
    ~Run() {
      sink_.flow_ = {count_, hash_};
      sink_.uses_.exits.Of(InstructionClass::kConditional, BlockExit::kTaken) += taken_;
      sink_.uses_.exits.Of(InstructionClass::kConditional, BlockExit::kNotTaken) +=
          conditionals_ - taken_;
    }
    void Conditional(const BlockGraph&, uint32_t, const Node& node, unsigned taken, const Moment&) {
      Add(node);
      ++conditionals_;
      taken_ += taken;
    }
    void Block(const BlockGraph&, uint32_t, const Node& node, BlockExit exit, uint64_t,
               const Moment&) {
      Add(node);
      ++sink_.uses_.exits.Of(node.last, exit);
    }

   private:
    void Add(const Node& node) {
      hash_ = hash_ * node.power + node.hash;
      count_ += node.count;
    }

    CountingSink& sink_;
    uint64_t hash_;
    uint64_t count_;
    uint64_t conditionals_ = 0;
    uint64_t taken_ = 0;
  };
  // The engine itself adds the digest of whole paths. How often each path is used is counted in the
  // path, and added up when the part ends. `memo` must live until then, or until CountUses.
  FlowDigest& flow() { return flow_; }
  template <class Path>
  [[gnu::always_inline]] void Use(PathMemo& memo, Path& path) {
    memo_ = &memo;
    if (memo.Use(path)) CountUses();
  }
  void CountUses() {
    if (memo_ != nullptr) memo_->CountUses(uses_);
    memo_ = nullptr;
  }
  // The sums of uses, to which paths that give way to others add theirs at once.
  PathUses& uses() { return uses_; }
  // Packets that are taken by paths are counted with the paths' uses. Here the engine reports the
  // others, and by how many a use of a path stands for more or fewer packets than the path has.
  void Fast(int64_t packets) { effort_.fast += static_cast<uint64_t>(packets); }
  void Slow(SlowPacket reason, uint64_t packets = 1) { effort_.Of(reason) += packets; }
  const DecodeStatistics& effort() const { return effort_; }
  // The first `count` instructions of a block that was left in its middle.
  void Part(const BlockGraph& graph, uint32_t id, unsigned count, const Moment&) {
    const NodeInfo& info = graph.info(id);
    uint64_t ip = info.address;
    for (unsigned i = 0; i < count; ++i) {
      flow_.Append(ip);
      ip += info.block->lengths[i];
    }
  }
  void Loss(DataLoss loss) {
    loss.after = flow_.count;
    losses_.AddLoss(std::move(loss));
  }
  uint64_t retired() const { return retired_before_ + flow_.count; }
  // Continues after `flow`, which another sink received.
  void GoOnFrom(const FlowDigest& flow) {
    flow_ = flow;
    retired_before_ = 0;
  }

  // Ends the part at hand; what follows is `stay`'s.
  void Enter(const ThreadStay* stay, const PartMark& mark);
  // Forgets everything but the stay.
  void Restart(const PartMark& mark);
  std::vector<FlowPart> TakeParts() { return std::exchange(parts_, {}); }

  // All but the account of bytes and the times, which the engine has. REQUIRES: the last part has
  // been ended.
  FlowSummary Summary() &&;

 private:
  FlowTotals TakeTotals();
  // Sums of the current part.
  FlowDigest flow_;
  PathUses uses_;
  PathMemo* memo_ = nullptr;  // that has uses which are not counted yet
  FlowTotals losses_;         // nothing but them
  PartMark mark_;

  uint64_t retired_before_ = 0;
  std::vector<FlowPart> parts_;
  DecodeStatistics effort_;
};

// Hands every block to a receiver by itself: to an ExecutionConsumer, or to the TimeEstimator that
// stands before one.
template <class Receiver>
class DeliveringSink : public ForwardingSink<DeliveringSink<Receiver>, Receiver> {
 public:
  static constexpr bool kWantsAddresses = true;

  explicit DeliveringSink(Receiver& receiver) : Forwarding(receiver) {}

  void Block(const BlockGraph& graph, uint32_t id, const Node& node, BlockExit exit, uint64_t next,
             const Moment& moment) {
    Deliver(graph, id, node.count, node.last, exit, next, moment);
  }
  void Part(const BlockGraph& graph, uint32_t id, unsigned count, const Moment& moment);
  uint64_t retired() const { return count_; }
  // Nothing is held back.
  void TellFlow() {}

 private:
  using Forwarding = ForwardingSink<DeliveringSink, Receiver>;
  using Forwarding::done_;
  using Forwarding::receiver_;

  void Deliver(const BlockGraph& graph, uint32_t id, unsigned count, InstructionClass last,
               BlockExit exit, uint64_t next, const Moment& moment);

  uint64_t count_ = 0;
};

using ConsumerSink = DeliveringSink<ExecutionConsumer>;
using TimedSink = DeliveringSink<TimeEstimator>;

}  // namespace flowback::pt
