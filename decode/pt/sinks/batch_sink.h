// SPDX-License-Identifier: MIT
// Hands on the flow in batches. The engine's hot loop adds the steps of whole paths to the current
// stretch; anything else ends the stretch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "decode/pt/flow_names.h"
#include "decode/pt/sinks/forwarding_sink.h"
#include "decode/pt/time/time_estimator.h"

namespace flowback::pt {

// Gives the consumer each stretch as soon as it ends.
class BatchWriter {
 public:
  // It keeps nothing back.
  struct State {};

  explicit BatchWriter(ExecutionConsumer& consumer) : consumer_(&consumer) {}

  State Save() const { return {}; }
  void Restore(const State&) { steps_.Release(steps_.position()); }
  size_t waiting() const { return 0; }
  void Use(ExecutionConsumer& consumer) { consumer_ = &consumer; }
  void HandOnKnown() {}
  void Finish() {}

  StepBuffer& steps() { return steps_; }
  void OnStretch(const BlockStretch& stretch) {
    consumer_->OnBlocks(stretch.Batch(steps_));
    steps_.Release(stretch.begin + stretch.count);
  }
  void OnBlock(const BlockRun& run) { consumer_->OnBlock(run); }
  void OnEvent(const TraceEvent& event) { consumer_->OnEvent(event); }
  void OnLoss(const DataLoss& loss) { consumer_->OnLoss(loss); }
  bool Done() const { return consumer_->Done(); }

 private:
  ExecutionConsumer* consumer_;
  StepBuffer steps_;
};

// The receiver is a BatchWriter, or a TimeEstimator.
template <class Receiver>
class BatchSink : public ForwardingSink<BatchSink<Receiver>, Receiver> {
 public:
  static constexpr bool kMemoises = true;
  static constexpr MemoContent kMemoContent = MemoContent::kBlocks;
  static constexpr bool kListsBlocks = true;
  static constexpr bool kHearsPackets = true;
  static constexpr bool kWantsAddresses = true;
  using ForwardingSink<BatchSink, Receiver>::kWantsTimes;

  // Where it stands, between two packets; the receiver's state is the receiver's.
  struct State {
    BlockStretch open;
    const ThreadStay* stay = nullptr;
  };

  explicit BatchSink(Receiver& receiver) : Forwarding(receiver), steps_(receiver.steps()) {}

  // The flow so far.
  void TellFlow() { Close(); }
  // REQUIRES: the flow has been handed on.
  State Save() const { return {open_, this->stay()}; }
  void Restore(const State& state) {
    open_ = state.open;
    Told();
    Forwarding::Enter(state.stay, {});
    done_ = false;
  }

  void Block(BlockGraph& graph, uint32_t id, const Node& node, BlockExit exit, uint64_t next,
             const Moment& moment) {
    if (exit == BlockExit::kStopped) {
      BlockRun run = RunOf(graph, id, node.count);
      run.exit = exit;
      run.last = node.last;
      run.next = next;
      return Single(run, moment);
    }
    if (!GoesOn(graph, id, moment)) Begin(graph, id, moment);
    steps_.Add(BlockStep::Of(id, exit == BlockExit::kTaken), node.count);
    ++open_.count;
    open_.behind.hash = open_.behind.hash * node.power + node.hash;
    open_.behind.count += node.count;
    open_.next = next;
    if constexpr (kWantsTimes)
      if (receiver_.TimesNext() && TimeEstimator::TakesPacket(node.last, exit))
        TellPiece(open_.count, open_.behind.count, true);
    if (steps_.end() > steps_.limit() || Untold() >= Room()) [[unlikely]]
      MakeRoom();
  }
  // The first `count` instructions of a block that was left in its middle.
  void Part(const BlockGraph& graph, uint32_t id, unsigned count, const Moment& moment) {
    if (count == 0) return;
    BlockRun run = RunOf(graph, id, count);
    run.next = run.LastAddress() + run.lengths.back();
    Single(run, moment);
  }

  // ---- whole paths: the engine writes their steps behind end() itself ----

  // Whether it may: no packet, and no block, changes what the receiver says of the next ones.
  bool TakesPaths() const {
    if constexpr (kWantsTimes)
      if (receiver_.WantsPacketEnd()) return false;
    return Room() - Untold() >= 2 * BlockLists::kMost;
  }
  // The next block goes by itself.
  bool TakesSingles() const { return TimesNext(); }
  // They begin at node `id`.
  [[gnu::always_inline]] void BeginPaths(BlockGraph& graph, uint32_t id, const Moment& moment) {
    if (!GoesOn(graph, id, moment)) Begin(graph, id, moment);
  }
  FlowDigest& flow() { return open_.behind; }
  BlockStep* end() { return steps_.end(); }
  StepCount* counts_end() { return steps_.counts_end(); }
  // A path may begin here or before.
  BlockStep* Limit() {
    const size_t room = std::min(Room() - Untold(), size_t{1} << 20);
    return std::min(steps_.limit(), steps_.end() + room - BlockLists::kMost);
  }
  // They end at node `id`.
  void EndPaths(const BlockGraph& graph, uint32_t id, BlockStep* end) {
    open_.count += static_cast<size_t>(end - steps_.end());
    steps_.set_end(end);
    open_.next = graph.info(id).address;
  }
  // False: the next packet must be walked.
  bool HasRoom() {
    if (steps_.end() > steps_.limit()) MakeRoom();
    return Room() - Untold() >= BlockLists::kMost;
  }
  void MakeRoom() {
    if constexpr (kWantsTimes) {
      if (Untold() >= Room()) Close();
      if (steps_.end() > steps_.limit()) steps_.MakeRoom();
    } else {
      Close();
    }
  }
  // Whether a CYC packet may come while paths are added.
  bool TakesCyc() const { return receiver_.TakesCyc() && !done_; }
  // The steps from `begin` on, behind end(), are of one path. If a CYC is still to time what took a
  // packet, it times the last step of the path's `lead`. `count` instructions of the flow are
  // before them.
  void TellTimed(const BlockStep* begin, uint64_t count, const BlockLists::Lead& lead) {
    if (receiver_.TimesNext() && lead.steps != 0)
      TellPiece(StepsTo(begin) + lead.steps, count + lead.instructions, true);
  }
  // REQUIRES: TakesCyc. Such packets come, each with a path of the packets behind it.
  void BeginCycs(const Clock::CycTerms& terms) { receiver_.BeginCycs(terms); }
  // False: no other one may come, as TakesCyc says, too.
  [[gnu::always_inline]] bool Cyc(uint64_t cycles_told, const BlockStep* begin, uint64_t count,
                                  const BlockLists::Lead& lead) {
    if (lead.steps == 0) [[unlikely]] {
      receiver_.OnCyc(cycles_told);
      return false;
    }
    const size_t steps = StepsTo(begin) + lead.steps;
    count += lead.instructions;
    receiver_.OnTimedBlocks(cycles_told, steps - told_steps_, count - told_count_);
    told_steps_ = steps;
    told_count_ = count;
    return true;
  }

  // A CYC need not part the steps on its two sides.
  void Mark(const TimeMark& mark, bool tracing)
    requires kWantsTimes
  {
    if (mark.kind == TimeMark::Kind::kCyc && tracing && receiver_.TakesCyc())
      return receiver_.OnCyc(mark);
    Forwarding::Mark(mark, tracing);
  }
  uint64_t retired() const { return open_.behind.count; }
  void Enter(const ThreadStay* next, const PartMark& mark) {
    Close();
    Forwarding::Enter(next, mark);
  }

 private:
  using Forwarding = ForwardingSink<BatchSink, Receiver>;
  using Forwarding::done_;
  using Forwarding::receiver_;
  using Forwarding::UpdateDone;

  bool TimesNext() const {
    if constexpr (kWantsTimes) return receiver_.TimesNext();
    return false;
  }
  size_t Room() const {
    if constexpr (kWantsTimes) return receiver_.Room();
    return ~size_t{0};
  }
  bool GoesOn(const BlockGraph& graph, uint32_t id, const Moment& moment) const {
    return open_.graph == &graph && graph.info(id).address == open_.next &&
           (kWantsTimes || open_.tsc == moment.tsc) &&
           open_.in_transaction == moment.in_transaction;
  }
  void Begin(BlockGraph& graph, uint32_t id, const Moment& moment) {
    Close();
    open_.goes_on = false;
    open_.graph = &graph;
    open_.next = graph.info(id).address;
    open_.tsc = moment.tsc;
    open_.in_transaction = moment.in_transaction;
  }
  // Blocks of the current stretch that no piece has handed to the receiver.
  size_t Untold() const { return open_.count - told_steps_; }
  // Returns how many of the stretch's steps lie before `step`, which is at or behind end().
  size_t StepsTo(const BlockStep* step) const {
    return open_.count + static_cast<size_t>(step - steps_.end());
  }
  // The stretch's first `steps`, up to the flow's instruction `count`: the new ones among them
  // become a piece.
  [[gnu::always_inline]] void TellPiece(size_t steps, uint64_t count, bool takes_packet)
    requires kWantsTimes
  {
    if (done_) return;
    receiver_.OnBlocks(steps - told_steps_, count - told_count_, takes_packet);
    told_steps_ = steps;
    told_count_ = count;
  }
  // The stretch at hand ends here; the next one may go on behind it.
  void Close() {
    if (open_.count == 0) return;
    if (done_) {
      steps_.set_end(steps_.end() - open_.count);
    } else {
      if constexpr (kWantsTimes)
        if (Untold() != 0) TellPiece(open_.count, open_.behind.count, false);
      open_.begin = steps_.position() - open_.count;
      open_.stay = this->stay();
      receiver_.OnStretch(open_);
      UpdateDone();
    }
    open_.count = 0;
    open_.before = open_.behind;
    open_.goes_on = true;
    Told();
  }
  // All of it up to here.
  void Told() {
    told_steps_ = open_.count;
    told_count_ = open_.behind.count;
  }
  void Single(BlockRun& run, const Moment& moment) {
    Close();
    open_.next = run.next;
    open_.goes_on = false;
    if (done_) return;
    run.tsc = moment.tsc;
    run.in_transaction = moment.in_transaction;
    run.stay = this->stay();
    uint64_t ip = run.address;
    for (const uint8_t length : run.lengths) {
      open_.behind.Append(ip);
      ip += length;
    }
    open_.before = open_.behind;
    Told();
    receiver_.OnBlock(run);
    UpdateDone();
  }

  StepBuffer& steps_;
  BlockStretch open_;
  size_t told_steps_ = 0;    // of it
  uint64_t told_count_ = 0;  // instructions of the flow up to there
};

using BatchedSink = BatchSink<BatchWriter>;
using BatchedTimedSink = BatchSink<TimeEstimator>;

}  // namespace flowback::pt
