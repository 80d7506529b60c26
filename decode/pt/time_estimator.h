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
//
// The bounds of a piece are known only when a later packet has told the time, so pieces wait here.
// Then each gets its most likely time: timing packets are points on a line of instructions counted
// against time, straight in between. Where tracing was off in between, the instructions are given
// the pace they had last, and the time left over is that of the breaks.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/ring.h"
#include "decode/pt/clock.h"
#include "decode/pt/flow_names.h"
#include "flowback/model/execution.h"

namespace flowback::pt {

// All that it knows; where it puts things is not in it. What blocks point to must stay as long as a
// copy does.
struct EstimatorState {
  using Number = uint64_t;  // of a mark, from 1; 0: none
  struct Mark {
    TimeMark told;
    uint64_t tsc = 0;  // this and the bounds are final up to resolved_
    TscInterval bounds;
  };
  // A point of the line: so many instructions had executed at a mark, or where tracing was off.
  struct Point {
    uint64_t count = 0;
    Number mark = 0;      // 0: a break
    bool starts = false;  // the mark is when tracing started: the next instruction's time, too
  };
  struct Piece {
    enum class Kind : uint8_t { kBlock, kBlocks, kEvent, kLossBegin, kLoss };
    Kind kind{};
    bool starts = false;  // an event behind a break
    uint64_t count = 0;   // instructions before it
    Number lo = 0;
    Number hi = 0;
    Number last_lo = 0;  // of a block's, or a stretch's, last instruction; 0: as lo
  };
  // The line from the first of points_ to the next mark.
  struct Segment {
    bool valid = false;
    uint64_t begin = 0;  // counts; `begin` one more where the first instruction has the mark's time
    uint64_t end = 0;
    Number end_mark = 0;  // 0: there is none yet
    size_t points = 0;    // up to the next mark
    size_t passed = 1;    // of them, by the pieces handed on
    double pace = 0;      // ticks an instruction
    double pause = 0;     // ticks a break
  };

  Ring<Mark> marks_;
  Number first_ = 1;     // number of marks_.front()
  Number last_ = 0;      // of marks_.back()
  Number settled_ = 0;   // the last mark ahead of the last flow packet
  Number base_ = 0;      // the last TSC or MTC up to resolved_
  Number resolved_ = 0;  // up to here marks are final
  Number placed_ = 0;    // up to here marks are points
  std::vector<Number> unplaced_;
  uint64_t unplaced_count_ = 0;  // instructions when the first of them came
  bool exact_ = false;           // the last mark is a CYC that times the packet in work
  bool tracing_ = false;
  bool has_cyc_ = false;

  Ring<Point> points_;
  Segment segment_;
  double usual_pace_ = 1.0 / 3;
  double tail_pace_ = 0;  // behind the last mark

  Ring<Piece> pieces_;
  size_t waiting_ = 0;  // pieces, each block counted
  Ring<BlockRun> blocks_;
  Ring<BlockStretch> stretches_;
  StepBuffer steps_;
  BlockStretch batch_;  // whose times are known; is handed on when it is long enough
  std::vector<TimedPart> times_;
  std::deque<TraceEvent> events_;
  std::deque<DataLoss> losses_;
  uint64_t loss_begin_ = 0;  // of the loss that is handed on next
  TscInterval loss_begin_bounds_;
  uint64_t count_ = 0;
  uint64_t lo_floor_ = 0;  // of the last piece handed on
  uint64_t tsc_floor_ = 0;
  bool done_ = false;
};

class TimeEstimator : private EstimatorState {
 public:
  // Pieces that wait at most. When more would, they go on with what is known, their end open.
  static constexpr size_t kMaxWaiting = size_t{1} << 17;

  TimeEstimator(ExecutionConsumer& consumer, const PtConfig& config)
      : consumer_(&consumer), rates_(config) {}

  // Between two packets.
  EstimatorState Save() const { return *this; }
  size_t waiting() const { return waiting_; }
  void Restore(const EstimatorState& state) { static_cast<EstimatorState&>(*this) = state; }
  // From now on hands on to that one.
  void Use(ExecutionConsumer& consumer) { consumer_ = &consumer; }

  // A packet told the time. `tracing`: instructions may execute now.
  void OnMark(const TimeMark& mark, bool tracing);
  // A piece of flow that the packet in work proves. What it points to must stay until Finish.
  void OnBlock(const BlockRun& run);
  // Blocks that no packet told the time between: they have the same bounds. Its steps are the last
  // ones in steps(). `takes_packet`: so does the last one, none before it.
  void OnBlocks(const BlockStretch& stretch, bool takes_packet = false);
  StepBuffer& steps() { return steps_; }
  // The next block that takes a packet has a time of its own.
  bool TimesNext() const { return exact_; }
  // So many more blocks may come until all go on with what is known.
  size_t Room() const { return kMaxWaiting - waiting_; }
  void OnEvent(const TraceEvent& event);
  // Instead of OnBlock, where only the times of events matter.
  void OnInstructions(uint64_t count, bool takes_packet) {
    count_ += count;
    if (exact_ && takes_packet) TakeExact();
  }
  // The flow is lost here; the loss itself follows when it is found again.
  void OnLossBegin();
  void OnLoss(const DataLoss& loss);
  // A packet that tells of the flow has been taken, and everything it proves has been given.
  void OnPacketEnd() {
    if (WantsPacketEnd()) Settle();
  }
  // Whether that would change anything.
  bool WantsPacketEnd() const { return settled_ != last_ || exact_; }
  // Hands on the pieces whose times are known: nothing waits for others to come to them.
  void HandOnKnown() { HandOn(); }
  // The stream ends: hands on what still waits.
  void Finish();
  bool Done() const { return done_; }

  // Whether a block's last instruction had a packet, or a bit of one, of its own.
  static bool TakesPacket(InstructionClass last, BlockExit exit) {
    if (exit == BlockExit::kStopped) return true;
    if (exit == BlockExit::kFallThrough || last == InstructionClass::kOther) return false;
    return last == InstructionClass::kConditional || !IsDirect(last);
  }

 private:
  Mark& At(Number number) { return marks_[number < first_ ? 0 : number - first_]; }
  const Mark& At(Number number) const { return marks_[number < first_ ? 0 : number - first_]; }
  Piece& Add(Piece::Kind kind, size_t blocks = 1);
  void Place(Number number, uint64_t count);
  void PlaceHere();
  void PlaceWaiting();
  void Break();
  void TakeExact(bool starts = false);
  void Settle();
  void Correct(const TimeMark& tsc);
  void Resolve(Number end);
  void ResolveOpen();
  void Calibrate(Number number, Number end);
  void KeepOrder(Number number);
  void Flush();
  void FlushAll(double pace);
  void FlushIfMany() {
    if (waiting_ >= kMaxWaiting) FlushAll(0);
  }
  void DeliverFirst();
  void DeliverOther(const Piece& piece);
  void DeliverBlock(Piece& piece, BlockRun& run);
  void DeliverBlocks(Piece& piece, const BlockStretch& stretch);
  void AddTimes(Piece& piece, uint64_t instructions);
  void HandOn();
  static void Limit(const ThreadStay* stay, TscInterval& bounds);
  TscInterval BoundsOf(const Piece& piece, const ThreadStay* stay);
  uint64_t TimeAt(const Piece& piece, uint64_t count, const TscInterval& bounds);
  void FindSegment(const Piece& piece, uint64_t count);
  void SetLine(const TscInterval& bounds, uint64_t ahead, TimeLine& line) const;
  uint64_t EndOfLine() const;
  void Measure();
  void NextSegment();
  void Forget();

  ExecutionConsumer* consumer_;
  const Clock rates_;
};

}  // namespace flowback::pt
