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

  // Of the last instruction. REQUIRES: it has one.
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

// How a step ended whose last instruction is of that class.
constexpr BlockExit ExitOf(InstructionClass last, bool taken) {
  if (taken) return BlockExit::kTaken;
  return last == InstructionClass::kConditional ? BlockExit::kNotTaken : BlockExit::kFallThrough;
}

// When instructions most likely executed: so many ticks for each one, within limits.
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
  // Whether no limit changes anything for counts from `first` to `last`: then At(count) is
  // Free(count) for all of them, as times do not fall.
  bool IsFree(uint64_t first, uint64_t last) const {
    constexpr double kMostTicks = 1e15;  // far from where whole numbers end
    if (static_cast<int64_t>(ahead + first) < 0 || TicksAt(last) > kMostTicks) return false;
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
  uint64_t end = 0;  // so many instructions of the batch lie in or before it
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
  std::span<const BlockStep> steps;  // valid during the call only, like `times`
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
  // Calls visit(block, step, count, tsc) for each step: its block, how many of the batch's
  // instructions lie in or before it, and when its last one executed, as BlockRun::tsc has it. For
  // whoever needs no more than that of each block: no block runs are made.
  template <class Visit>
  [[gnu::always_inline]] void ForEachStep(Visit&& visit) const;
  FlowDigest digest() const {
    return {instructions(), behind.hash - before.hash * FlowDigest::Power(instructions())};
  }
};

// Where ForEachStep has come to. All of it is put into the caller, so that what the visitor sums up
// stays in registers.
struct StepWalk {
  const CodeBlock* blocks = nullptr;
  const BlockStep* step = nullptr;
  const BlockStep* end = nullptr;
  uint64_t count = 0;  // of the batch's instructions, before the step

  // The steps whose last instruction lies before the batch's `limit`th.
  template <class Visit, class TimeAt>
  [[gnu::always_inline]] void To(uint64_t limit, Visit& visit, const TimeAt& time_at) {
    for (; step != end; ++step) {
      const CodeBlock& block = blocks[step->number()];
      if (count + block.count >= limit) break;
      count += block.count;
      visit(block, *step, count, time_at(count));
    }
  }
  // The same for as long as there are four, which are compared with the limit together: that is
  // faster by a tenth.
  template <class Visit, class TimeAt>
  [[gnu::always_inline]] void FoursTo(uint64_t limit, Visit& visit, const TimeAt& time_at) {
    for (; end - step >= 4; step += 4) {
      const CodeBlock& first = blocks[step[0].number()];
      const CodeBlock& second = blocks[step[1].number()];
      const CodeBlock& third = blocks[step[2].number()];
      const CodeBlock& fourth = blocks[step[3].number()];
      const uint64_t one = count + first.count;
      const uint64_t two = one + second.count;
      const uint64_t three = two + third.count;
      const uint64_t four = three + fourth.count;
      if (four >= limit) break;
      count = four;
      visit(first, step[0], one, time_at(one));
      visit(second, step[1], two, time_at(two));
      visit(third, step[2], three, time_at(three));
      visit(fourth, step[3], four, time_at(four));
    }
  }
};

template <class Visit>
inline void BlockBatch::ForEachStep(Visit&& visit) const {
  constexpr uint64_t kFewInstructions = 64;
  StepWalk walk{table->blocks().data(), steps.data(), steps.data() + steps.size()};
  for (const TimedPart& part : times) {
    const TimeLine line = part.line;  // a copy stays in registers whatever the visitor writes
    const uint64_t limit = part.end;
    if (part.bounds.lo == 0) {
      walk.To(limit, visit, [](uint64_t) { return uint64_t{0}; });
    } else if (limit - walk.count > kFewInstructions && line.IsFree(walk.count + 1, limit)) {
      const auto time_at = [&line](uint64_t at)
                               __attribute__((always_inline)) { return line.Free(at); };
      walk.FoursTo(limit, visit, time_at);
      walk.To(limit, visit, time_at);
    } else {
      walk.To(limit, visit, [&line](uint64_t at) { return line.At(at); });
    }
    // The part's last instruction may have a time of its own, or lie in mid-block.
    if (walk.step == walk.end) continue;
    const CodeBlock& block = walk.blocks[walk.step->number()];
    if (walk.count + block.count != limit) continue;
    walk.count = limit;
    visit(block, *walk.step, limit, part.LastAt(limit));
    ++walk.step;
  }
  walk.To(~uint64_t{0}, visit, [this](uint64_t) { return tsc; });  // without times
}

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
  // False: there is none left.
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
  // Passes over next_step(), which has so many instructions; end() is about it then.
  void Skip(uint16_t instructions) {
    ++next_;
    behind_ += instructions;
  }
  // When the block's last instruction executed, as run() has it; for whoever needs no more.
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
