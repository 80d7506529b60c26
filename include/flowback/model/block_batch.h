// SPDX-License-Identifier: MIT
// Many block runs at a time, as a decoder that is fast hands them on: the blocks by number, and one
// line from which the time of each follows.
//
// An analysis that takes batches looks each block up where it is kept already, and may keep things
// of its own by the same numbers; one that does not gets block runs (ExecutionConsumer).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "flowback/base/flow_digest.h"
#include "flowback/model/execution.h"
#include "flowback/model/instruction.h"

namespace flowback {

// A block of code at its place in an address space.
struct CodeBlock {
  uint64_t address = 0;              // of the first instruction
  const uint8_t* lengths = nullptr;  // of its instructions, in bytes; `count` of them
  uint32_t size = 0;                 // bytes of all instructions
  uint16_t count = 0;
  InstructionClass last = InstructionClass::kOther;  // class of the last instruction

  // Returns the address of the last instruction. REQUIRES: it has one.
  uint64_t LastAddress() const { return address + size - lengths[count - 1]; }
};

// The blocks of an address space in one mode, by number. Blocks are added, none is changed: what a
// consumer keeps by table and number stays right as long as the decoder lives.
class BlockTable {
 public:
  BlockTable(const AddressSpace& space, CodeMode mode) : space_(space), mode_(mode) {}

  const AddressSpace& space() const { return space_; }
  CodeMode mode() const { return mode_; }
  size_t size() const { return blocks_.size(); }
  const CodeBlock& operator[](uint32_t number) const { return blocks_[number]; }
  // All of them; valid until the next one is added.
  std::span<const CodeBlock> blocks() const { return blocks_; }
  void Add(const CodeBlock& block) { blocks_.push_back(block); }

 private:
  const AddressSpace& space_;
  CodeMode mode_;
  std::vector<CodeBlock> blocks_;
};

// One execution of a block.
struct BlockStep {
  uint32_t value = 0;

  static constexpr BlockStep Of(uint32_t number, bool taken) {
    return {number << 1 | uint32_t{taken}};
  }
  uint32_t number() const { return value >> 1; }
  // Its last instruction transferred control.
  bool taken() const { return (value & 1) != 0; }
};

// How an execution of a block was left, as one bit. Several ways are added up.
namespace step_way {
inline constexpr uint8_t kOn = 1;      // behind it
inline constexpr uint8_t kTaken = 2;   // its last instruction transferred control, or the flow
                                       // stopped there
inline constexpr uint8_t kMiddle = 4;  // before its last instruction, as by an interrupt
}  // namespace step_way
constexpr uint8_t WayOf(bool taken) { return taken ? step_way::kTaken : step_way::kOn; }

// How many instructions a step's block has, 1 to 256, in a byte.
struct StepCount {
  uint8_t less_one = 0;

  static constexpr unsigned kMost = 256;
  // REQUIRES: 1 to kMost.
  static constexpr StepCount Of(unsigned count) { return {static_cast<uint8_t>(count - 1)}; }
  unsigned count() const { return less_one + 1u; }
};

// How a step ended whose last instruction is of that class.
constexpr BlockExit ExitOf(InstructionClass last, bool taken) {
  if (taken) return BlockExit::kTaken;
  return last == InstructionClass::kConditional ? BlockExit::kNotTaken : BlockExit::kFallThrough;
}

// When instructions most likely executed: a number of ticks for each, within limits.
struct TimeLine {
  uint64_t begin = 0;  // TSC
  uint64_t end = ~uint64_t{0};
  uint64_t ahead = 0;  // instructions since `begin`, before those counted; modulo 2^64: it may come
                       // after some of them
  double pace = 0;     // ticks an instruction
  double pauses = 0;   // ticks since `begin` in which nothing executed
  uint64_t earliest = 0;
  uint64_t latest = ~uint64_t{0};

  // When `count` instructions had executed. 0: nothing is known.
  uint64_t At(uint64_t count) const { return NotBefore(earliest, count); }
  // The same where that is known better than by `earliest`.
  uint64_t NotBefore(uint64_t lo, uint64_t count) const {
    const auto run = static_cast<int64_t>(ahead + count);
    const double ticks = static_cast<double>(std::max<int64_t>(run, 0)) * pace + pauses;
    const uint64_t tsc = std::min(begin + static_cast<uint64_t>(ticks), end);
    return std::min(std::max({tsc, earliest, lo}), latest);
  }
  // Whether 53 bits hold the ticks up to there. Times do not fall.
  bool IsShort(uint64_t last) const {
    constexpr double kMostTicks = 1e15;  // far from where whole numbers end
    return TicksAt(last) <= kMostTicks;
  }
  // Whether no limit changes anything for counts from `first` to `last`: then At(count) is
  // Free(count) for all of them, as times do not fall.
  bool IsFree(uint64_t first, uint64_t last) const {
    if (static_cast<int64_t>(ahead + first) < 0 || !IsShort(last)) return false;
    return Free(first) >= earliest && Free(last) <= std::min(end, latest);
  }
  // REQUIRES: IsFree for a range with `count`.
  uint64_t Free(uint64_t count) const {
    return begin + static_cast<uint64_t>(static_cast<int64_t>(TicksAt(count)));
  }

 private:
  double TicksAt(uint64_t count) const {
    return static_cast<double>(static_cast<int64_t>(ahead + count)) * pace + pauses;
  }
};

// Instructions of a batch about whose times the same is known.
struct TimedPart {
  uint64_t end = 0;  // how many instructions of the batch lie in or before it
  TscInterval bounds;
  uint64_t last_lo = 0;  // a closer lower bound of its last instruction's time; 0: bounds.lo
  TimeLine line;         // counts from the batch's first instruction
  CycleMark cycles;      // at its last instruction, which then is a block's last one

  // When the instruction executed that is the batch's `count`th; 0: nothing is known. One that
  // ends its block may have a closer bound.
  uint64_t FirstAt(uint64_t count) const { return bounds.lo == 0 ? 0 : line.At(count); }
  uint64_t LastAt(uint64_t count) const {
    const bool closer = count == end && last_lo != 0;
    return closer ? line.NotBefore(last_lo, count) : FirstAt(count);
  }
};

// Blocks that were executed one behind the other: each leads to where the next one begins.
struct BlockBatch {
  std::span<const BlockStep> steps;   // valid during the call only, like the two other spans
  std::span<const StepCount> counts;  // of each step, where there are times; else empty
  const BlockTable* table = nullptr;
  uint64_t next = 0;  // where control went behind the last one
  FlowDigest before;  // of all instructions that the decoder has handed on before it
  FlowDigest behind;  // and with it
  // Where DecodeInput::times asks for them: parts of the batch, up to its end. A block has the
  // bounds of its first instruction; its last one may lie in another part with the same bounds.
  std::span<const TimedPart> times;
  uint64_t tsc = 0;  // else: as BlockRun::tsc, of every block
  bool in_transaction = false;
  const ThreadStay* stay = nullptr;

  uint64_t instructions() const { return behind.count - before.count; }
  // When its first and its last instruction executed, as BlockRun has it.
  uint64_t first_tsc() const { return times.empty() ? tsc : times.front().FirstAt(1); }
  uint64_t last_tsc() const { return times.empty() ? tsc : times.back().LastAt(instructions()); }
  FlowDigest digest() const {
    return {instructions(), behind.hash - before.hash * FlowDigest::Power(instructions())};
  }
};

// The block runs of a batch, one after the other:
//   for (BlockRuns runs(batch); runs.Next();) Use(runs.run());
// Only run() takes time: a consumer may pass over blocks that say nothing to it.
class BlockRuns {
 public:
  // Both must stay.
  explicit BlockRuns(const BlockBatch& batch) : batch_(batch), table_(*batch.table) {
    run_.tsc = batch.tsc;
    run_.mode = table_.mode();
    run_.in_transaction = batch.in_transaction;
    run_.space = &table_.space();
    run_.stay = batch.stay;
  }
  // False if none is left.
  bool Next() {
    if (next_ == batch_.steps.size()) return false;
    step_ = batch_.steps[next_++];
    before_ = behind_;
    behind_ += block().count;
    return true;
  }
  // Passes over the steps that come, as long as `counts` has the instructions of each, by the
  // step's value; kNoCount ends it, and it does not pass over the batch's last step. Returns how
  // many instructions it was.
  static constexpr int32_t kNoCount = -(1 << 24);  // less than a few blocks have instructions
  uint64_t PassOver(const int32_t* counts) {
    constexpr size_t kTogether = 4;
    const BlockStep* const steps = batch_.steps.data();
    const size_t last = std::max<size_t>(batch_.steps.size(), 1) - 1;
    uint64_t all = 0;
    size_t at = next_;
    // With a sum of four there is one look for four whether all of them count.
    for (; at + kTogether <= last; at += kTogether) {
      const int32_t sum = counts[steps[at].value] + counts[steps[at + 1].value] +
                          counts[steps[at + 2].value] + counts[steps[at + 3].value];
      if (sum < 0) break;
      all += static_cast<uint32_t>(sum);
    }
    for (; at < last && counts[steps[at].value] >= 0; ++at)
      all += static_cast<uint32_t>(counts[steps[at].value]);
    next_ = at;
    behind_ += all;
    return all;
  }
  bool IsLast() const { return next_ == batch_.steps.size(); }
  const BlockTable& table() const { return table_; }
  const CodeBlock& block() const { return table_[step_.number()]; }
  BlockStep step() const { return step_; }
  bool taken() const { return step_.taken(); }
  // Where control went.
  uint64_t next() const {
    return IsLast() ? batch_.next : table_[batch_.steps[next_].number()].address;
  }
  // The step behind this one. REQUIRES: it is not the last one.
  BlockStep next_step() const { return batch_.steps[next_]; }
  // Whether two steps come yet, the first of them is next_step(), and the other one.
  bool HasTwo() const { return next_ + 2 <= batch_.steps.size(); }
  BlockStep second_step() const { return batch_.steps[next_ + 1]; }
  // The same for three.
  bool HasThree() const { return next_ + 3 <= batch_.steps.size(); }
  BlockStep third_step() const { return batch_.steps[next_ + 2]; }
  // Skips next_step(), which has `instructions`; end() then describes it.
  void Skip(uint16_t instructions) {
    ++next_;
    behind_ += instructions;
  }
  // When the block's last instruction executed, as run() has it; cheaper than run().
  struct End {
    uint64_t tsc = 0;
    TscInterval bounds;
  };
  [[gnu::always_inline]] End end() {
    if (behind_ >= free_until_) return FindEnd();
    const TimedPart& part = batch_.times[part_];
    return {part.line.Free(behind_), part.bounds};
  }
  const BlockRun& run() {
    const CodeBlock& at = block();
    run_.address = at.address;
    run_.lengths = {at.lengths, at.count};
    run_.next = next();
    run_.last = at.last;
    run_.exit = ExitOf(at.last, taken());
    if (batch_.times.empty()) return run_;
    const TimedPart& first = PartOf(before_ + 1);
    run_.bounds = first.bounds;
    run_.first_tsc = first.FirstAt(before_ + 1);
    const TimedPart& last = PartOf(behind_);
    run_.last_lo = last.end == behind_ ? last.last_lo : 0;
    run_.cycles = last.end == behind_ ? last.cycles : CycleMark();
    run_.tsc = last.LastAt(behind_);
    return run_;
  }

 private:
  [[gnu::noinline]] End FindEnd() {
    if (batch_.times.empty()) return {batch_.tsc, {}};
    const TimedPart& part = PartOf(behind_);
    const bool free = part.bounds.lo != 0 && part.line.IsFree(behind_, part.end);
    free_until_ = free ? part.end : 0;
    End end{part.LastAt(behind_), part.bounds};
    if (part.end == behind_ && part.last_lo != 0) end.bounds.lo = part.last_lo;
    return end;
  }
  // Where the instruction lies that is the `count`th; counts must not fall.
  const TimedPart& PartOf(uint64_t count) {
    while (batch_.times[part_].end < count) ++part_;
    return batch_.times[part_];
  }

  const BlockBatch& batch_;
  const BlockTable& table_;
  size_t next_ = 0;  // step
  BlockStep step_;
  uint64_t before_ = 0;  // instructions of the batch, before the block
  uint64_t behind_ = 0;  // and with it
  size_t part_ = 0;
  uint64_t free_until_ = 0;  // no limit changes the line of the part below that; 0: not known
  BlockRun run_;
};

}  // namespace flowback
