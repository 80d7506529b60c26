// SPDX-License-Identifier: MIT
// FlowReader: the engine, its sink and what estimates times, stopped between two packets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/recorded/pt_config.h"
#include "decode/call_change.h"
#include "decode/null_consumer.h"
#include "decode/pt/engine/flow_engine.h"
#include "decode/pt/engine/flow_segments.h"
#include "decode/pt/memo/memo_cache.h"
#include "decode/pt/sinks/batch_sink.h"
#include "decode/pt/sinks/block_counting_sink.h"
#include "decode/pt/sinks/event_sink.h"
#include "decode/pt/state/state_parts.h"
#include "flowback/decode/flow_reader.h"

namespace flowback::pt {

// The receiver is a BatchWriter or a TimeEstimator; `make` makes one for a consumer.
template <class Receiver>
class SegmentReader final : public FlowReader {
 public:
  using Make = Receiver (*)(ExecutionConsumer& consumer, const DecodeInput& input);

  SegmentReader(const DecodeInput& input, CodeMemory& memory, Make make)
      : input_(input), memory_(memory), make_(make) {
    Rewind();
  }

  void ReadTo(uint64_t offset, ExecutionConsumer& consumer) override {
    if (at_end_) return;
    work_->receiver.Use(consumer);
    Engine& engine = work_->engine;
    if (!std::exchange(begun_, true)) engine.Begin();
    engine.RunJustTo(std::min<uint64_t>(offset, input_.bytes.size()));
    work_->sink.TellFlow();
    work_->receiver.HandOnKnown();
    if (engine.offset() < input_.bytes.size() || work_->sink.Done()) return;
    engine.RunJustTo(input_.bytes.size());  // a gap may lie there
    engine.Finish();
    work_->receiver.Finish();
    at_end_ = true;
  }
  std::optional<uint64_t> ReadOver(uint64_t offset, ExecutionConsumer& consumer) override {
    // Where CYC packets are, each block would be gone through by itself.
    if constexpr (kTimes)
      if (!at_end_ && begun_ && !work_->receiver.has_cyc() && offset < input_.bytes.size()) {
        work_->receiver.Use(consumer);
        return GoOver(offset);
      }
    return std::nullopt;
  }
  void FollowCalls(CallJudge* judge) override {
    if (judge_ == judge) return;
    judge_ = judge;
    if (work_->over != nullptr) work_->over->FollowCalls(judge);
  }
  bool TakeCalls(OverCalls& calls) override {
    calls = std::exchange(over_calls_, {});
    return judge_ != nullptr;
  }
  void TakeUses(const BlockUses& use) override {
    if (work_->over != nullptr) work_->over->TakeUses(use);
  }
  bool is_whole() const override {
    if constexpr (kTimes) return work_->receiver.is_whole();
    return true;
  }
  uint64_t offset() const override {
    if (at_end_) return input_.bytes.size();
    return begun_ ? work_->engine.offset() : input_.from;
  }
  bool at_end() const override { return at_end_; }
  size_t waiting() const override { return work_->receiver.waiting(); }

  std::shared_ptr<const State> Save() override {
    auto kept = std::make_shared<Kept>();
    kept->at_end = at_end_;
    if (begun_ && !at_end_)
      kept->middle.emplace(work_->sink.Save(), work_->receiver.Save(), work_->engine.Save());
    return kept;
  }
  void Return(const State& state) override {
    const Kept& kept = static_cast<const Kept&>(state);
    at_end_ = kept.at_end;
    begun_ = at_end_ || kept.middle;
    if (at_end_) return;
    if (!kept.middle) return Rewind();
    const auto& [sink, receiver, engine] = *kept.middle;
    // In this order: an engine that comes back to a stay says so to the sink.
    work_->sink.Restore(sink);
    work_->engine.Restore(engine);
    work_->receiver.Restore(receiver);
  }

  std::vector<uint8_t> ToBytes(const State& state) const override {
    const Kept& kept = static_cast<const Kept&>(state);
    StateWriter writer(Names());
    writer.Number(kTimes);
    writer.Number(kept.at_end);
    writer.Number(kept.middle.has_value());
    if (kept.middle) PutMiddle(writer, *kept.middle);
    return writer.Take();
  }
  std::shared_ptr<const State> FromBytes(Bytes bytes) override {
    StateReader reader(Names(), bytes);
    auto kept = std::make_shared<Kept>();
    if (reader.Number() != kTimes) return nullptr;
    kept->at_end = reader.Number() != 0;
    if (reader.Number() != 0) {
      kept->middle.emplace(SinkState(), ReceiverState(),
                           Carry{FlowState(PtConfigOf(input_.config)), 0, {}});
      PutMiddle(reader, *kept->middle);
    }
    return reader.Done() && IsSound(*kept) ? kept : nullptr;
  }

 private:
  using Sink = BatchSink<Receiver>;
  using Engine = FlowEngine<Sink>;
  using ReceiverState = decltype(std::declval<Receiver&>().Save());

  using SinkState = typename Sink::State;
  using Carry = typename Engine::Carry;
  using Middle = std::tuple<SinkState, ReceiverState, Carry>;
  static constexpr bool kTimes = Sink::kWantsTimes;

  struct Kept final : State {
    bool at_end = false;
    std::optional<Middle> middle;  // empty: before the first packet, or behind the last one
  };
  // Skips over the flow instead of handing it on, in turns with the other engine; both have the
  // same receiver.
  using OverSink = EventSink<true, BlockUseSink>;
  struct Over final : UseHolder {
    Over(SegmentReader& reader, TimeEstimator& receiver)
        : memory(reader.memory_),
          code(*reader.input_.code, memory.graphs),
          sink(receiver),
          engine(reader.input_, code, memory.held_memos, sink) {}
    Over(const Over&) = delete;
    Over& operator=(const Over&) = delete;
    ~Over() {
      if (memory.holder == this) memory.Hold(nullptr);
    }
    void LetGo() override {
      sink.CountUses();
      engine.ForgetMemo();
    }
    // The memos learn of the judge when the engine asks for them next. One that is gone must not be
    // taken for the next one that lies where it lay.
    void FollowCalls(CallJudge* judge) {
      memory.Hold(this);
      LetGo();
      sink.FollowCalls(judge);
      memory.held_memos.FollowNoCalls(sink.uses());
    }
    void TakeUses(const BlockUses& use) {
      sink.CountUses();
      sink.marks().Take([&use](BlockGraph& graph, uint32_t block, uint64_t instructions,
                               uint8_t ways) { use(graph.Table(), block, instructions, ways); });
    }

    CodeMemory& memory;
    CodeView code;
    OverSink sink;
    FlowEngine<OverSink> engine;
  };
  struct Work {
    Work(SegmentReader& reader)
        : code(*reader.input_.code, reader.memory_.graphs),
          receiver(reader.make_(reader.nobody_, reader.input_)),
          sink(receiver),
          engine(reader.input_, code, reader.memory_.memos, sink) {}

    CodeView code;
    Receiver receiver;
    Sink sink;
    Engine engine;
    std::unique_ptr<Over> over;  // made when first needed
  };

  template <class Archive, class T>
  static void PutMiddle(Archive& archive, T& middle) {
    std::apply([&archive](auto&... parts) { (Put(archive, parts), ...); }, middle);
  }
  // What would lead to places that are not there.
  bool IsSound(const Kept& kept) const {
    if (!kept.middle) return true;
    const Carry& carry = std::get<Carry>(*kept.middle);
    return carry.place.history != nullptr &&
           carry.place.epoch < carry.place.history->epochs.size() && carry.state.pos_ != nullptr &&
           carry.state.end_ != nullptr && carry.state.parts_.Fits(input_);
  }
  const StateNames& Names() const {
    if (!names_) names_.emplace(input_, memory_.graphs);
    return *names_;
  }
  uint64_t GoOver(uint64_t offset)
    requires kTimes
  {
    if (work_->over == nullptr) {
      work_->over = std::make_unique<Over>(*this, work_->receiver);
      work_->over->FollowCalls(judge_);
    }
    memory_.Hold(work_->over.get());
    auto& sink = work_->over->sink;
    auto& engine = work_->over->engine;
    SinkState told = work_->sink.Save();
    const uint64_t before = told.open.behind.count;
    const Carry begin = work_->engine.Save();
    engine.Restore({begin.state, begin.ip, begin.place});
    sink.Begin(told.open.behind);
    engine.RunJustTo(offset);
    sink.End();
    const auto end = engine.Save();
    told.open = {.before = sink.flow(), .behind = sink.flow()};
    work_->sink.Restore(told);
    work_->engine.Restore({end.state, end.ip, end.place});
    if (judge_ != nullptr) {
      // The place where it goes on comes later.
      if (sink.calls().stopped()) sink.calls().NoteUnusual();
      over_calls_ = {.begin = before, .end = sink.flow().count, .change = sink.calls().Take()};
    }
    return sink.flow().count - before;
  }
  // To before the first packet.
  void Rewind() { work_ = std::make_unique<Work>(*this); }

  const DecodeInput& input_;
  CodeMemory& memory_;
  const Make make_;
  NullConsumer nobody_;  // listens before the first ReadTo
  std::unique_ptr<Work> work_;
  mutable std::optional<StateNames> names_;  // made when first needed
  bool begun_ = false;
  bool at_end_ = false;
  CallJudge* judge_ = nullptr;
  OverCalls over_calls_;
};

}  // namespace flowback::pt
