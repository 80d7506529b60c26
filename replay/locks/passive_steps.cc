// SPDX-License-Identifier: MIT
#include "replay/locks/passive_steps.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "base/linux/kernel_address.h"
#include "base/linux/linux_waiting_calls.h"
#include "decode/system_call.h"
#include "replay/locks/lock_functions.h"

namespace flowback {
namespace {

constexpr unsigned kWayBits = 4;
constexpr uint64_t kAllWays = (uint64_t{1} << kWayBits) - 1;

uint8_t WayOfRun(const BlockRun& run) {
  return WayOf(run.exit == BlockExit::kTaken || run.exit == BlockExit::kStopped);
}

// Calls `visit(place, ways)` for each block in a word, until it returns false.
template <class Visit>
bool ForEachOfWord(uint64_t word, Visit visit) {
  while (word != 0) {
    const auto place = static_cast<unsigned>(std::countr_zero(word)) / kWayBits;
    const uint64_t mask = kAllWays << (kWayBits * place);
    if (!visit(place, static_cast<uint8_t>((word & mask) >> (kWayBits * place)))) return false;
    word &= ~mask;
  }
  return true;
}

BlockRun RunOfLoopBlock(const LoopBlock& block) {
  BlockRun run;
  run.address = block.address;
  run.lengths = block.lengths;
  run.mode = block.mode;
  run.space = block.space;
  run.last = block.last;
  return run;
}

}  // namespace

void PassiveSteps::Grow(Known& known, size_t words) {
  if (known.noted.size() >= words) return;
  for (std::vector<uint64_t>* of :
       {&known.noted, &known.settled, &known.calls, &known.waits, &known.jumps})
    of->resize(2 * words);
}

LoopBlock& PassiveSteps::BlockOf(const BlockTable* table, uint32_t number) {
  return table == nullptr ? blocks_.Of(runs_[number]) : blocks_.Of(*table, number);
}

// Calls `visit(known, word, ways, table)` for what executed, until it returns false; `table` is
// null for runs.
template <class Visit>
bool PassiveSteps::ForEachWord(const SegmentSteps& steps, Visit visit) {
  for (const SegmentSteps::PerTable& of : steps.tables) {
    Known& known = tables_[of.table];
    Grow(known, of.ways.size());
    for (size_t word = 0; word < of.ways.size(); ++word)
      if (of.ways[word] != 0 && !visit(known, word, of.ways[word], of.table)) return false;
  }
  for (const uint32_t run : steps.runs) {
    const size_t word = run / kWaysOfWord;
    Grow(of_runs_, word + 1);
    const uint64_t ways = uint64_t{WayOfRun(runs_[run])} << (kWayBits * (run % kWaysOfWord));
    if (!visit(of_runs_, word, ways, nullptr)) return false;
  }
  return true;
}

void PassiveSteps::Note(const SegmentSteps& steps) {
  ForEachWord(steps, [&](Known& known, size_t word, uint64_t ways, const BlockTable* table) {
    if ((ways & ~known.noted[word]) != 0) NoteWays(known, word, ways, table);
    return true;
  });
}

void PassiveSteps::NoteWays(Known& known, size_t word, uint64_t ways, const BlockTable* table) {
  ForEachOfWord(ways & ~known.noted[word], [&](unsigned place, uint8_t more) {
    const LoopBlock& block = BlockOf(table, static_cast<uint32_t>(word * kWaysOfWord + place));
    const unsigned shift = kWayBits * place;
    const bool is_new = (known.noted[word] >> shift & kAllWays) == 0;
    graph_.Add(block, more);
    const bool may_wait = is_new && MayWait(block);
    if (may_wait) known.waits[word] |= kAllWays << shift;
    if (may_wait || (is_new && IsOfLock(block))) known.calls[word] |= kAllWays << shift;
    if (is_new && block.branch != 0) known.jumps[word] |= uint64_t{step_way::kTaken} << shift;
    return true;
  });
  known.noted[word] |= ways;
}

bool PassiveSteps::IsPassive(const SegmentSteps& steps, const SegmentSteps& before) {
  if (!steps.known || !before.known || steps.addresses) return false;
  Candidates not_taken;
  const bool passive =
      ForEachWord(steps, [&](Known& known, size_t word, uint64_t ways, const BlockTable* table) {
        const uint64_t open = ways & ~known.settled[word];
        return open == 0 || ArePassive(known, word, open, table, not_taken);
      });
  if (!passive || not_taken.empty()) return passive;
  // One that is not taken matters where it was taken before, into a loop entered in the middle.
  std::set<Branch> taken;
  AddTaken(before, taken);
  AddTaken(steps, taken);
  return std::ranges::none_of(not_taken, [&](const LoopBlock* block) {
    return taken.contains({block->space, block->branch}) && MayEndTrip(*block);
  });
}

// Whether the search may find a trip that the block's branch ends, and that is no work.
bool PassiveSteps::MayEndTrip(const LoopBlock& block) {
  return graph_.MayEndTrip(block) && !proofs_[&block].Holds(block, graph_);
}

bool PassiveSteps::ArePassive(Known& known, size_t word, uint64_t ways, const BlockTable* table,
                              Candidates& not_taken) {
  return ForEachOfWord(ways, [&](unsigned place, uint8_t some) {
    const LoopBlock& block = BlockOf(table, static_cast<uint32_t>(word * kWaysOfWord + place));
    const bool settled = block.is_linker || block.branch == 0 || block.stores || block.is_work() ||
                         block.goes_by_itself;
    if (!settled) return IsPassiveBlock(block, some, not_taken);
    known.settled[word] |= kAllWays << (kWayBits * place);
    return true;
  });
}

bool PassiveSteps::IsPassiveBlock(const LoopBlock& block, uint8_t ways, Candidates& not_taken) {
  if ((ways & step_way::kTaken) != 0) return !MayEndTrip(block);
  if ((ways & step_way::kOn) != 0) not_taken.push_back(&block);
  return true;
}

void PassiveSteps::AddTaken(const SegmentSteps& steps, std::set<Branch>& taken) {
  ForEachWord(steps, [&](Known& known, size_t word, uint64_t ways, const BlockTable* table) {
    return ForEachOfWord(ways & known.jumps[word], [&](unsigned place, uint8_t) {
      const LoopBlock& block = BlockOf(table, static_cast<uint32_t>(word * kWaysOfWord + place));
      // What jumps within itself is seen from its begin on.
      const bool is_entered = block.stores || !block.InstructionAt(block.target);
      if (is_entered && !block.is_work()) taken.insert({block.space, block.branch});
      return true;
    });
  });
}

PassiveSteps::Calls PassiveSteps::CallsOf(const SegmentSteps& steps) const {
  if (!steps.known || steps.addresses) return Calls::kAll;
  bool of_locks = false;
  const auto look = [&](const Known& known, size_t word, uint64_t ways) {
    if (word >= known.calls.size() || (known.calls[word] & ways) == 0) return false;
    of_locks = true;
    return (known.waits[word] & ways) != 0;
  };
  for (const SegmentSteps::PerTable& of : steps.tables) {
    const auto known = tables_.find(of.table);
    if (known == tables_.end()) return Calls::kAll;
    for (size_t word = 0; word < of.ways.size(); ++word)
      if (look(known->second, word, of.ways[word])) return Calls::kAll;
  }
  for (const uint32_t run : steps.runs)
    if (look(of_runs_, run / kWaysOfWord, kAllWays << (kWayBits * (run % kWaysOfWord))))
      return Calls::kAll;
  return of_locks ? Calls::kOfLocks : Calls::kNone;
}

// It ends in a system call that may wait.
bool PassiveSteps::MayWait(const LoopBlock& block) const {
  if (block.last != InstructionClass::kFarCall) return false;
  const std::optional<SystemCall> call = SystemCallOf(RunOfLoopBlock(block));
  if (!call || IsFutexCall(call->number, call->abi)) return true;
  return blocking_ && CanBlock(call->number, call->abi);
}

bool PassiveSteps::IsOfLock(const LoopBlock& block) {
  FunctionPiece piece = finder_.Find(block.space, block.address);
  if (piece.end == 0) piece.begin = block.address;
  const TimelineFunction& named = functions_.all()[functions_.NumberOf(block.space, piece)];
  return LockFunctionOf(named.name, IsKernelAddress(named.entry_ip)).belongs_to_lock();
}

}  // namespace flowback
