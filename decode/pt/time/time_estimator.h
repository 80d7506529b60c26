// SPDX-License-Identifier: MIT
// When each piece of the flow executed: within which bounds, and most likely when.
//
// A timing packet stands for one moment, and the flow packets on its two sides were written before
// and after it. So a piece that packet P completes lies
//
//   not before  the last timing packet ahead of the flow packet before P. Not: ahead of P, for a
//               TNT packet collects branches for a while, and a timing packet does not send it off;
//               its first branches may be older than a timing packet ahead of it
//   not after   the first timing packet behind P
//
//      MTC 1    TNT a    MTC 2    TNT b    MTC 3       b's branches: between MTC 1 and MTC 3
//
// A CYC packet directly ahead of a flow packet is exact: it times the packet, a TNT's first branch.
// So each piece ends at a branch whose time is known:
//
//   packets         MTC 1   CYC 2  TNT          CYC 3  TIP             MTC 4
//   instructions    ------------|-------------------|--------------------
//   pieces           MTC 1..2   |     CYC 2..3      |     CYC 3..MTC 4
//   last one's lo             CYC 2               CYC 3
//   points                    CYC 2               CYC 3                MTC 4
//
// The bounds of a piece are known only when a later packet has the time, so pieces wait here;
// TimeMarks has the moments themselves. Then each piece gets its most likely time, for which timing
// packets are points on a line of instructions counted against time (TimeCourse), and goes on to
// the consumer: blocks in batches of many pieces.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/queue.h"
#include "base/recorded/pt_config.h"
#include "decode/pt/flow_names.h"
#include "decode/pt/time/clock.h"
#include "decode/pt/time/packet_ending.h"
#include "decode/pt/time/time_course.h"
#include "decode/pt/time/time_marks.h"
#include "flowback/model/execution.h"

namespace flowback::pt {

// All that it knows; where it puts things is not in it. What blocks point to must stay as long as a
// copy does.
struct EstimatorState {
  using Number = TimeMarks::Number;
  // A part of the flow with one pair of bounds.
  struct Piece {
    // kUntold: blocks that are not handed on, but counted among the waiting ones.
    enum class Kind : uint8_t { kBlock, kBlocks, kEvent, kLossBegin, kLoss, kUntold };
    Kind kind{};
    bool starts = false;        // an event behind a break
    uint32_t blocks = 1;        // as waiting_ counts them
    uint32_t instructions = 0;  // of kBlocks
    uint64_t count = 0;         // instructions before it
    Number lo = 0;
    Number hi = 0;
    Number last_lo = 0;  // for the last instruction of the block or blocks; 0: as lo. For an event
                         // that a CYC times: that one
  };
  // The last mark of cycles that was handed on, and the state since then.
  struct LastCycles {
    CycleMark::Since since = CycleMark::Since::kUnknown;  // what the next one will say
    uint64_t all = 0;                                     // Mark::all_cycles
    uint64_t count = 0;                                   // instructions before it
    const ThreadStay* stay = nullptr;
  };

  TimeMarks marks_;
  Number settled_ = 0;  // the last mark ahead of the last flow packet
  Number written_ = 0;  // the same, where that packet may have been held back
  Number placed_ = 0;   // up to here marks are points
  std::vector<Number> unplaced_;
  uint64_t unplaced_count_ = 0;  // instructions when the first of them came
  bool exact_ = false;           // the last mark is a CYC that times the packet in work
  bool tracing_ = false;
  bool has_cyc_ = false;
  TimeCourse course_;

  Queue<Piece> pieces_;
  size_t waiting_ = 0;  // pieces, each block counted
  Queue<BlockRun> blocks_;
  Queue<BlockStretch> stretches_;  // each of a few kBlocks pieces
  StepBuffer steps_;
  std::deque<TraceEvent> events_;
  std::deque<DataLoss> losses_;
  uint64_t count_ = 0;  // instructions in all pieces so far

  // The part that is being handed on.
  BlockStretch batch_;        // whose times are known; is handed on when it is long enough
  uint64_t batch_begin_ = 0;  // instructions before it
  size_t stretch_left_ = 0;   // blocks of its last stretch whose times are still to come
  Queue<TimedPart> times_;
  uint64_t loss_begin_ = 0;  // of the loss that is handed on next
  TscInterval loss_begin_bounds_;
  uint64_t lo_floor_ = 0;  // of the last piece handed on
  uint64_t tsc_floor_ = 0;
  bool done_ = false;

  size_t untold_ = 0;      // pieces of that kind that wait
  bool overfull_ = false;  // some may have gone on early: too many waited
  LastCycles last_cycles_;
};

class TimeEstimator : private EstimatorState {
 public:
  // The largest number of waiting pieces. If more would wait, all go on with the known times, their
  // end open.
  static constexpr size_t kMaxWaiting = size_t{1} << 17;

  TimeEstimator(ExecutionConsumer& consumer, const PtConfig& config)
      : consumer_(&consumer), rates_(config) {}

  // Between two packets.
  EstimatorState Save() const {
    EstimatorState state = *this;
    state.marks_.ResolveDeferredMarks(rates_);
    return state;
  }
  size_t waiting() const { return waiting_; }
  void Restore(const EstimatorState& state) { static_cast<EstimatorState&>(*this) = state; }
  // From now on hands on to that one.
  void Use(ExecutionConsumer& consumer) { consumer_ = &consumer; }

  // A packet had the time. `tracing`: instructions may execute now.
  void OnMark(const TimeMark& mark, bool tracing);
  // Whether a CYC packet, while tracing is on, only adds to earlier marks: then waiting
  // instructions before it may be handed on together with those after it.
  bool TakesCyc() const { return tracing_ && !exact_ && unplaced_.empty(); }
  // REQUIRES: TakesCyc(). Does what OnMark does.
  void OnCyc(const TimeMark& mark) {
    marks_.Add(mark);
    exact_ = has_cyc_ = true;
  }
  // Such packets, one behind the other, each with flow behind it; REQUIRES that TakesCyc() stays.
  void BeginCycs(const Clock::CycTerms& terms) { marks_.BeginCycs(terms, rates_); }
  [[gnu::always_inline]] void OnCyc(uint64_t cycles_told) {
    marks_.AddCyc(cycles_told);
    exact_ = has_cyc_ = true;
  }
  // The same, then what OnBlocks does of the blocks up to the first one that takes a packet.
  [[gnu::always_inline]] void OnTimedBlocks(uint64_t cycles_told, size_t blocks,
                                            uint64_t instructions) {
    marks_.AddCyc(cycles_told);
    const Number number = marks_.last();
    has_cyc_ = true;
    pieces_.push_back({.kind = Piece::Kind::kBlocks,
                       .blocks = static_cast<uint32_t>(blocks),
                       .instructions = static_cast<uint32_t>(instructions),
                       .count = count_,
                       .lo = settled_,
                       .hi = number,
                       .last_lo = number});
    waiting_ += blocks;
    count_ += instructions;
    settled_ = written_ = placed_ = number;
    course_.Add({count_, number, false});
  }

  // A piece of flow that the packet in work proves. Its pointers must stay valid until Finish.
  void OnBlock(const BlockRun& run);
  // Takes `blocks` blocks with the same bounds, of a stretch that OnStretch brings. `takes_packet`:
  // the last block takes a packet; no block before it does. All must come before a mark with its
  // own time.
  [[gnu::always_inline]] void OnBlocks(size_t blocks, uint64_t instructions, bool takes_packet) {
    Piece& piece = Add(Piece::Kind::kBlocks);
    waiting_ += blocks;
    piece.blocks = static_cast<uint32_t>(blocks);
    piece.instructions = static_cast<uint32_t>(instructions);
    count_ += instructions;
    if (exact_ && takes_packet) {
      TakeExact();
      piece.last_lo = settled_;
    }
  }
  // The blocks since the last one. Its steps are the last ones in steps().
  void OnStretch(const BlockStretch& stretch);
  StepBuffer& steps() { return steps_; }
  // The next block that takes a packet has a time of its own.
  bool TimesNext() const { return exact_; }
  // Returns how many more blocks may come until all waiting blocks are handed on.
  size_t Room() const { return kMaxWaiting - waiting_; }
  void OnEvent(const TraceEvent& event);
  // Instead of OnBlock, where only the times of events matter.
  void OnInstructions(uint64_t count, bool takes_packet) {
    count_ += count;
    if (exact_ && takes_packet) TakeExact();
  }
  // Replaces OnBlock for blocks that are not handed on, but count in everything else. Blocks that
  // are handed on may follow.
  void OnUntold(uint64_t blocks, uint64_t instructions, bool takes_packet) {
    Piece& piece = Add(Piece::Kind::kUntold);
    piece.blocks = static_cast<uint32_t>(blocks);
    waiting_ += blocks;
    ++untold_;
    overfull_ |= waiting_ >= kMaxWaiting - kMaxWaiting / 8;
    OnInstructions(instructions, takes_packet);
  }
  // Since the last Restore the waiting flow is complete, and is again handed on in full.
  bool is_whole() const { return untold_ == 0 && !overfull_; }
  bool has_cyc() const { return has_cyc_; }
  // The flow is lost here; the loss itself follows when it is found again.
  void OnLossBegin();
  void OnLoss(const DataLoss& loss);
  // A packet has been taken. Flow after a TIP that may have been held back during marks is no older
  // than the packets that were written before all of those. Behind a packet that says nothing of
  // the flow, some may follow that is older; but a CYC ahead of it has timed it, and not the next
  // one.
  void OnPacketEnd(PacketEnding ending) {
    if (!Wants(ending)) return;
    switch (ending) {
      case PacketEnding::kProven:
        return Settle();
      case PacketEnding::kDeferred:
        return SettleLate();
      case PacketEnding::kStatus:
        exact_ = false;
        return PlaceHere();
    }
  }
  // Whether such an end would change anything.
  bool Wants(PacketEnding ending) const {
    return ending == PacketEnding::kStatus ? exact_ : WantsPacketEnd();
  }
  // Works as above for a packet about the flow.
  bool WantsPacketEnd() const { return settled_ != marks_.last() || exact_; }
  // Whether the packet in work may be a TIP that was held back; its flow is still to come.
  void OnHeldBack(bool held) {
    if (held) OnPacketEnd(PacketEnding::kDeferred);
    held_back_ = held;
  }
  // Hands on the pieces whose times are known: no other pieces need to come first. Keeps a stretch
  // with unknown times.
  void HandOnKnown() {
    if (stretch_left_ == 0) HandOn();
  }
  // The stream ends: hands on what still waits.
  void Finish();
  bool Done() const { return done_; }

  // Whether tracing is off behind it.
  static bool Stops(EventKind kind) {
    return kind == EventKind::kStopped || kind == EventKind::kStoppedAsync;
  }
  // Whether a block's last instruction had a packet, or a bit of one, of its own.
  static bool TakesPacket(InstructionClass last, BlockExit exit) {
    if (exit == BlockExit::kStopped) return true;
    if (exit == BlockExit::kFallThrough || last == InstructionClass::kOther) return false;
    return last == InstructionClass::kConditional || !IsDirect(last);
  }

 private:
  [[gnu::always_inline]] Piece& Add(Piece::Kind kind) {
    pieces_.push_back({.kind = kind,
                       .count = count_,
                       .lo = settled_,
                       .hi = exact_ ? marks_.last() : marks_.last() + 1});
    return pieces_.back();
  }
  [[gnu::always_inline]] void Place(Number number, uint64_t count, bool starts = false) {
    course_.Add({count, number, starts});
    placed_ = number;
    if (!tracing_) course_.AddBreak(count);  // it goes on
  }
  // The last mark that surely precedes the packet in work.
  Number BeforePacket() const { return held_back_ ? settled_ : marks_.last(); }
  void PlaceHere();
  void PlaceWaiting();
  void Break();
  [[gnu::always_inline]] void TakeExact() {
    exact_ = false;
    settled_ = written_ = marks_.last();
    Place(settled_, count_);
  }
  void Settle();
  void SettleLate();
  void Flush();
  void FlushAll(double pace);
  void FlushIfMany() {
    if (waiting_ >= kMaxWaiting) FlushAll(0);
  }
  void DeliverFirst();
  void DeliverOther(const Piece& piece);
  void DeliverBlock(Piece& piece, BlockRun& run);
  void DeliverBlocks(Piece& piece);
  void DeliverExact();
  void BeginStretch(const Piece& piece);
  void AddTimes(Piece& piece);
  void HandOn();
  CycleMark CyclesAt(Number mark, uint64_t count, const ThreadStay* stay);
  CycleMark CyclesOf(const Piece& piece, const TraceEvent& event);
  static void Limit(const ThreadStay& stay, TscInterval& bounds);
  [[gnu::always_inline]] TscInterval BoundsOf(const Piece& piece, const ThreadStay* stay) {
    TscInterval bounds;
    if (piece.lo != 0) bounds.lo = marks_.At(piece.lo).lo;
    if (piece.hi != 0 && piece.hi <= marks_.resolved()) bounds.hi = marks_.At(piece.hi).hi;
    if (stay != nullptr) Limit(*stay, bounds);
    bounds.lo = lo_floor_ = std::max(bounds.lo, lo_floor_);
    if (bounds.hi != 0) bounds.hi = std::max(bounds.hi, bounds.lo);
    return bounds;
  }
  uint64_t TimeAt(const Piece& piece, uint64_t count, const TscInterval& bounds);
  // The line of times there, for counts behind the first `ahead` instructions of the flow.
  void SetLine(const TscInterval& bounds, uint64_t ahead, TimeLine& line) const {
    course_.SetLine(ahead, line);
    line.earliest = std::max(bounds.lo, tsc_floor_);
    if (bounds.hi != 0) line.latest = std::max(bounds.hi, tsc_floor_);
  }
  void Forget();

  ExecutionConsumer* consumer_;
  const Clock rates_;
  bool held_back_ = false;  // while a packet is in work
};

}  // namespace flowback::pt
