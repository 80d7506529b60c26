// SPDX-License-Identifier: MIT
// The hardware-neutral result of decoding: block runs, events, losses, in program order.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "flowback/model/instruction.h"

namespace flowback {

class AddressSpace;   // decode/code_image.h
class RangeConsumer;  // range_consumer.h
struct BlockBatch;    // model/block_batch.h
class CodeSection;    // decode/code_image.h
struct ThreadStay;    // decode/schedule.h

// How many core cycles the flow took, from mark to mark.
//
// Hardware counts cycles from one packet to another. Where such a packet times an instruction, or
// the event at which tracing starts or stops, that has a mark:
//
//     instructions  ---|---------|-----------------  stopped   started ----|------
//     marks            unknown   flow 40             flow 9    pause 3000   flow 12
//
// So a mark counts the stretch that it ends. Between marks nothing is known of single instructions.
struct CycleMark {
  enum class Since : uint8_t {
    kNoMark,   // no mark
    kUnknown,  // cycles are counted from here on: no mark came before it, or flow was lost since
    kFlow,     // of the instructions that the flow has since the mark before it
    kPause,    // of a time in which tracing was off: no instruction's
    kBoth,     // of instructions and of such a time: how many of each is unknown
  };

  static constexpr CycleMark Of(Since since, uint64_t cycles) {
    return {cycles << kBits | static_cast<uint64_t>(since)};
  }
  Since since() const { return static_cast<Since>(value & ((1u << kBits) - 1)); }
  // Since the mark before it, for the last three.
  uint64_t cycles() const { return value >> kBits; }
  bool any() const { return value != 0; }
  friend bool operator==(const CycleMark&, const CycleMark&) = default;

  static constexpr unsigned kBits = 3;
  uint64_t value = 0;
};

// How a block run ended.
enum class BlockExit : uint8_t {
  kFallThrough,  // cut before a branch (event, sync point, block size): goes on at `next`
  kTaken,        // its last instruction transferred control to `next`
  kNotTaken,     // its last instruction is a conditional branch that was not taken
  kStopped,      // its last instruction, other than a conditional branch, ended the traced part
                 // (SYSCALL under user-only tracing, leaving a filter range): `next` is the target
                 // if the trace has it, else 0
};

// Bounds of a time that the trace proves: lo <= time-stamp counter <= hi; 0 in either: no bound
// known.
struct TscInterval {
  uint64_t lo = 0;
  uint64_t hi = 0;
};

// Hardware's data about a branch, beside its target. Branch stacks do; Intel PT does not.
struct BranchFacts {
  enum class Prediction : uint8_t { kNotTold, kRight, kWrong };
  enum class Cycles : uint8_t {
    kNotTold,
    kExact,
    kAtLeast
  };  // kAtLeast: all that the counter holds

  uint32_t cycles = 0;  // core cycles since the branch before it
  Cycles cycles_told = Cycles::kNotTold;
  Prediction prediction = Prediction::kNotTold;

  bool any() const { return cycles_told != Cycles::kNotTold || prediction != Prediction::kNotTold; }
  friend bool operator==(const BranchFacts&, const BranchFacts&) = default;
};

// A run of instructions one after the other; all of them completed.
struct BlockRun {
  uint64_t address = 0;              // of the first instruction
  std::span<const uint8_t> lengths;  // one byte per executed instruction: its length in bytes;
                                     // valid during the call only
  uint64_t next = 0;                 // where control went; 0 when not known
  // Time-stamp counter when the last instruction executed: the best estimate where
  // DecodeInput::times asks for one, else the latest value known before. 0 when the stream carried
  // none yet.
  uint64_t tsc = 0;
  uint64_t first_tsc = 0;  // the same for the first instruction; 0: as `tsc`
  TscInterval bounds;      // of every instruction's time; only where DecodeInput::times asks for it
  uint64_t last_lo = 0;    // a closer lower bound of the last instruction's; 0: bounds.lo
  BlockExit exit = BlockExit::kFallThrough;
  InstructionClass last = InstructionClass::kOther;  // class of the last instruction
  CodeMode mode = CodeMode::kX86_64;
  bool in_transaction = false;
  BranchFacts branch;                   // of the last instruction, if that is a branch
  CycleMark cycles;                     // at its last instruction; where times are asked for
  const AddressSpace* space = nullptr;  // what was mapped when the run executed
  const ThreadStay* stay = nullptr;     // who ran; null when the input does not say

  // Address of the last instruction.
  uint64_t LastAddress() const {
    uint64_t ip = address;
    for (size_t i = 0; i + 1 < lengths.size(); ++i) ip += lengths[i];
    return ip;
  }
  // The bounds and the time of instruction `i` of this run.
  TscInterval BoundsOf(size_t i) const {
    const bool closer = i + 1 == lengths.size() && last_lo != 0;
    return {closer ? last_lo : bounds.lo, bounds.hi};
  }
  uint64_t TscOf(size_t i) const {
    if (first_tsc == 0 || tsc <= first_tsc || lengths.size() < 2) return tsc;
    return first_tsc + (tsc - first_tsc) * i / (lengths.size() - 1);
  }
};

// Things that happen between instructions. The names in events.def are printed by `--as events`.
enum class EventKind : uint8_t {
#define FLOWBACK_EVENT(name, text, meaning) name,
#include "flowback/model/events.def"
#undef FLOWBACK_EVENT
};

struct TraceEvent {
  EventKind kind{};
  uint64_t offset = 0;  // of the packet, in the stream
  uint64_t tsc = 0;     // as BlockRun::tsc
  TscInterval bounds;   // as BlockRun::bounds
  uint64_t ip = 0;      // where it binds; 0 when unknown
  uint64_t target = 0;  // where control goes, for kInterrupted and kAborted; else 0
  uint64_t value = 0;   // payload: see events.def
  uint64_t extra = 0;   // second payload: see events.def
  bool has_ip = false;
  CycleMark cycles;                  // where times are asked for
  const ThreadStay* stay = nullptr;  // as BlockRun::stay
};

// Why a range could not be decoded. One row of loss_causes.def each.
enum class LossCause : uint8_t {
#define FLOWBACK_LOSS(name, kind, text, remedy) name,
#include "flowback/model/loss_causes.def"
#undef FLOWBACK_LOSS
};

// Which part is missing: the trace, or the code to decode it with.
enum class LossClass : uint8_t { kLost, kUndecodable };

// A range of stream bytes (half-open) that could not be decoded.
struct DataLoss {
  LossCause cause{};
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t tsc = 0;      // when it began, as BlockRun::tsc; 0: not known
  TscInterval bounds{};  // of that, as BlockRun::bounds
  uint64_t end_tsc = 0;  // when the flow was found again, in the same way; 0: not known
  TscInterval end_bounds{};
  uint64_t last_ip = 0;  // next instruction to execute when the flow was lost; 0 when not known
  std::string detail{};  // addresses, packet bytes: what a person needs to find the reason
  const ThreadStay* stay = nullptr;  // who ran when the flow was lost
  // The file that `last_ip` lies in, or the reason given to AddressSpace::Explain if it lies in
  // none; null: neither is known.
  std::shared_ptr<const CodeSection> code = nullptr;
  // In totals, which keep many as one (FlowTotals::AddLoss): how many it stands for. The details
  // are then those of the first.
  uint64_t count = 1;
  uint64_t between = 0;  // bytes between those, which were decoded
  uint64_t after = 0;    // instructions of the totals that executed before it

  // How many bytes are lost.
  uint64_t bytes() const { return end - begin - between; }
};

// Flow between two certain places that was not recorded on purpose, as between two samples. Nothing
// is missing that should be there, so it is no loss. Instructions in between may be none or many.
struct UnknownFlow {
  uint64_t offset = 0;   // in the stream, where the flow is certain again
  uint64_t from = 0;     // the next instruction to execute where it begins; 0: not known
  uint64_t to = 0;       // and where it ends
  uint64_t tsc = 0;      // when it began, as BlockRun::tsc; 0: not known
  TscInterval bounds{};  // of that, as BlockRun::bounds
  uint64_t end_tsc = 0;  // when it ended, in the same way
  TscInterval end_bounds{};
  const ThreadStay* stay = nullptr;  // who ran where it begins
};

const char* Name(EventKind kind);
const char* Name(LossCause cause);
LossClass ClassOf(LossCause cause);
// Whether the flow goes on behind such a loss where it was before: only how often it had gone round
// a loop is not known.
inline bool KeepsPlace(LossCause cause) {
  return cause == LossCause::kRoundsUnknown || cause == LossCause::kDepthUnknown;
}
// Returns what the user can do about such a loss, in one sentence.
const char* Remedy(LossCause cause);
const char* Name(InstructionClass kind);

// A taken branch, without the block that it ends.
struct TakenBranch {
  static constexpr uint32_t kNoNumber = ~uint32_t{0};

  uint64_t from = 0;  // the instruction's address
  uint64_t to = 0;    // where control went
  BranchFacts facts;
  // Branches of one number have the same `from` and `to`, as long as the decoder lives; they are
  // counted from 0 and not many more than the code has branches.
  uint32_t number = kNoNumber;
};

// Receives one stream's flow in program order. Analyses and writers alike implement it.
class ExecutionConsumer {
 public:
  virtual ~ExecutionConsumer() = default;
  virtual void OnBlock(const BlockRun& run) = 0;
  // Many of them at once. By default each goes to OnBlock, until Done says so.
  virtual void OnBlocks(const BlockBatch& batch);
  // Instead of the blocks, where DecodeInput::only_branches asks for it and the decoder can: the
  // next ones that were taken, the oldest first. `tsc`: as BlockRun::tsc, of all of them.
  virtual void OnBranches(std::span<const TakenBranch> /*branches*/, uint64_t /*tsc*/) {}
  virtual void OnEvent(const TraceEvent& event) = 0;
  virtual void OnLoss(const DataLoss& loss) = 0;
  // Where it counts ranges of code, it may get these instead of most blocks, from a decoder that
  // can (Decoder::CountsRanges). Null: it wants the blocks.
  virtual RangeConsumer* ranges() { return nullptr; }
  // Sources of whole flows never report it. The default ignores it.
  virtual void OnUnknown(const UnknownFlow&) {}
  // Asked after each item, or batch of blocks; true ends the decoding early, without an error
  // (`| head`).
  virtual bool Done() const { return false; }
};

}  // namespace flowback
