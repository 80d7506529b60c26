// SPDX-License-Identifier: MIT
// The trip is executed with values that have names instead of numbers (trip_state.h), several times
// in a row, as the thread would if no other thread wrote to memory. Then each condition is looked
// at in all of these executions:
//
//  * It is the same value in the last two: then it is so for ever. If memory is in it, that memory
//    is what the thread waits for.
//  * It became a constant with which the jump would go the other way: the trip does not repeat by
//    itself. Either another thread came in between (a compare and swap failed that would not have),
//    or the trip itself makes an end (it exchanged a pointer for null).
//  * It is another value each time. Counters may do that in a wait that gives up some day; walking
//    through memory, or computing, is work.
//
// One more execution, in which each load is a value of its own, shows which loads a condition
// depends on, however constants fold.
#include "replay/locks/loops/trip.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "replay/locks/loops/free_trip.h"
#include "replay/locks/loops/trip_changes.h"
#include "replay/locks/loops/trip_reading.h"
#include "replay/locks/loops/trip_state.h"
#include "replay/locks/loops/trip_values.h"

namespace flowback {
namespace {

// The first may still see what was before the loop, the second what the first left in registers
// that are read late.
constexpr size_t kExecutions = 4;

// What the conditions of a trip turned out to be.
struct Deciders {
  bool waits = false;         // memory that others may write
  bool waits_on_own = false;  // such memory, which the trip changes and changes back
  bool waits_deep = false;    // such memory, but in a function that the loop calls
  bool waits_within = false;  // such memory, but the condition does not leave the loop
  bool waits_on_stack = false;
  bool failed = false;     // an attempt that would not have failed without other threads
  bool overtaken = false;  // loads that would have been the same without other threads
  bool ends = false;       // the trip's own doing
  bool counts = false;
  bool reads_along = false;
  bool returns_elsewhere = false;  // it is part of a recursion
  bool clock = false;
  bool random = false;
};

// Whether a condition cannot turn out again as it did.
enum class Opposite : uint8_t { kNone, kAtOnce, kLater };

// Whether the trip's last jump depends on how two numbers compare. A value compared with 0 or 1 may
// be the outcome of a condition, as in code that is not optimised.
bool EndsInComparison(std::span<const TripInstruction> trip) {
  const auto is_branch = [](const MachineStep& step) { return step.kind == StepKind::kBranch; };
  if (std::ranges::none_of(trip.back().steps, is_branch)) return false;
  for (size_t i = trip.size(); i-- > 0;)
    for (size_t k = trip[i].steps.size(); k-- > 0;) {
      const MachineStep& step = trip[i].steps[k];
      if (step.to.kind != StepOperand::Kind::kRegister || step.to.number != step_register::kFlags)
        continue;
      const bool is_truth = step.b.kind == StepOperand::Kind::kConstant && step.b.constant <= 1;
      return step.operation == StepOperation::kFlagsOfDifference && !is_truth;
    }
  return false;
}

class TripJudge {
 public:
  TripJudge(std::span<const TripInstruction> trip, CodeMode mode)
      : free_(trip, mode), state_(values_, mode), ends_in_comparison_(EndsInComparison(trip)) {
    for (size_t i = 0; i < kExecutions; ++i) {
      state_.Execute(trip, false, free_.outcomes(), logs_[i]);
      if (i == 0) first_.emplace(state_);
      if (i == kExecutions - 2) before_last_.emplace(state_);
    }
  }

  TripVerdict Judge();

 private:
  bool IsImpossible() const;
  void Look(size_t i, const TripChanges& changes);
  void LookAtSame(size_t i);
  bool ChangesBack(const TripValue& memory) const;
  void FindOpposites();
  std::pair<ValueId, bool> Positive(const TripCondition& condition) const;
  bool IsOwnDoing(size_t i) const;
  bool IsTakenAgain(size_t i) const;
  bool ChangesMemory();
  bool StoresAtomically();
  // Once pointers to the stack are seen through.
  bool Stores() const { return logs_[kExecutions - 1].stores; }
  bool ReadsMemory() const { return !logs_[0].accesses.empty(); }
  TripVerdict Verdict(LoopKind kind, LoopReason reason) const {
    return {
        .kind = kind, .reason = reason, .pauses = free_.log().pauses, .atomic = free_.log().atomic};
  }
  TripVerdict Decide(const TripChanges& changes);
  TripVerdict DecideQuiet();

  FreeTrip free_;
  TripValues values_;
  TripState state_;
  const bool ends_in_comparison_;
  std::optional<TripState> first_;
  std::optional<TripState> before_last_;
  std::array<TripLog, kExecutions> logs_;
  std::vector<Opposite> opposites_;
  Deciders deciders_;
  int depth_ = 0;
};

TripVerdict TripJudge::Judge() {
  if (free_.log().asks_kernel) return Verdict(LoopKind::kWork, LoopReason::kSystemCall);
  const bool failed = free_.Has(Outcome::kFailed);
  if (Stores() && !failed) return Verdict(LoopKind::kWork, LoopReason::kStores);
  if (IsImpossible()) return Verdict(LoopKind::kWork, LoopReason::kCounts);
  const TripChanges changes(values_, *first_);
  for (const TripCondition& condition : logs_[0].conditions)
    depth_ = std::min(depth_, condition.depth);
  FindOpposites();
  for (size_t i = 0; i < opposites_.size(); ++i) Look(i, changes);
  return Decide(changes);
}

// Whether the trip's own numbers keep its last jump from leading back. A trip is also made up of
// the way to a loop's jump that is not taken there.
bool TripJudge::IsImpossible() const {
  if (!ends_in_comparison_ || logs_[0].conditions.empty()) return false;
  const TripCondition& last = logs_[0].conditions.back();
  const auto known = values_.ConstantOf(last.value);
  return known && (*known != 0) != last.taken;
}

// A condition is met with both outcomes, or with the one that it cannot have: then other threads
// wrote to memory in between, or (where only executing the trip again shows it) the trip did.
void TripJudge::FindOpposites() {
  struct Seen {
    bool holds = false;
    size_t execution = 0;
  };
  std::unordered_map<ValueId, Seen> seen;
  opposites_.resize(logs_[0].conditions.size());
  for (size_t k = 0; k < kExecutions; ++k) {
    for (size_t i = 0; i < opposites_.size(); ++i) {
      const TripCondition& condition = logs_[k].conditions[i];
      if (condition.indirect) {
        const auto target = values_.ConstantOf(condition.value);
        deciders_.returns_elsewhere =
            deciders_.returns_elsewhere || (target && *target != condition.next);
        continue;
      }
      const auto [value, holds] = Positive(condition);
      const auto known = values_.ConstantOf(value);
      const auto [at, added] = seen.try_emplace(value, Seen{known ? *known != 0 : holds, k});
      if (at->second.holds == holds) continue;
      const bool at_once = k == 0 || (!known && at->second.execution == k);
      if (opposites_[i] != Opposite::kAtOnce)
        opposites_[i] = at_once ? Opposite::kAtOnce : Opposite::kLater;
    }
  }
}

// A condition without a "not" around it, and whether it held.
std::pair<ValueId, bool> TripJudge::Positive(const TripCondition& condition) const {
  const TripValue& value = values_[condition.value];
  const bool is_not = value.kind == ValueKind::kComputed &&
                      value.operation == StepOperation::kXor && values_.ConstantOf(value.b) == 1;
  return {is_not ? value.a : condition.value, condition.taken != is_not};
}

void TripJudge::Look(size_t i, const TripChanges& changes) {
  const TripCondition& last = logs_[kExecutions - 1].conditions[i];
  const TripCondition& earlier = logs_[kExecutions - 2].conditions[i];
  if (opposites_[i] != Opposite::kNone) {
    if (last.stays) return;
    if (!free_.DependsOnLoad(i)) {
      // What the trip left in a register: there is no next trip, as of a loop over two tables.
      if (opposites_[i] == Opposite::kLater && !free_.log().pauses) deciders_.ends = true;
      return;
    }
    if (free_.DependsOnFailure(i))
      deciders_.failed = true;
    else if (opposites_[i] == Opposite::kLater && StoresAtomically() && !IsTakenAgain(i))
      deciders_.ends = true;
    else
      deciders_.overtaken = true;
    return;
  }
  if (IsOwnDoing(i)) {
    (free_.FollowsExchanged(i) ? deciders_.ends : deciders_.waits) = true;
    return;
  }
  if (values_.IsConstant(last.value)) return;
  AnyWithin(values_, last.value, [&](ValueId id) {
    deciders_.clock = deciders_.clock || values_[id].kind == ValueKind::kClock;
    deciders_.random = deciders_.random || values_[id].kind == ValueKind::kRandom;
    return false;
  });
  if (last.value == earlier.value) return LookAtSame(i);
  if (changes.ReadsAlong(last.value))
    deciders_.reads_along = true;
  else
    deciders_.counts = true;
}

// The condition looks at what the trip's own atomic operation left in memory with the trip before:
// it took the lock that is taken already.
bool TripJudge::IsOwnDoing(size_t i) const {
  const ValueId value = logs_[kExecutions - 1].conditions[i].value;
  if (value != logs_[kExecutions - 2].conditions[i].value ||
      value == logs_[0].conditions[i].value || !free_.DependsOnLoad(i) || !free_.log().atomic)
    return false;
  return !AnyWithin(values_, value,
                    [&](ValueId id) { return values_[id].kind == ValueKind::kMemory; });
}

// It looks at what the trip left in memory, and a later condition of the trip found that changed:
// as where a lock that is seen free is taken before it can be.
bool TripJudge::IsTakenAgain(size_t i) const {
  return free_.outcomes().empty() && IsOwnDoing(i) && !free_.FollowsExchanged(i);
}

void TripJudge::LookAtSame(size_t i) {
  const TripCondition& condition = logs_[kExecutions - 1].conditions[i];
  if (condition.indirect) return;
  bool shared = false;
  bool own = false;
  bool stack = false;
  AnyWithin(values_, condition.value, [&](ValueId id) {
    const TripValue& value = values_[id];
    if (value.kind != ValueKind::kMemory) return false;
    if (state_.IsStack(value.a, value.constant))
      stack = true;
    else
      (ChangesBack(value) ? own : shared) = true;
    return false;
  });
  if (!shared && !own) {
    if (stack) deciders_.waits_on_stack = true;
  } else if (condition.stays) {
    deciders_.waits_within = true;
  } else {
    const bool deep = condition.depth > depth_;
    (!shared ? deciders_.waits_on_own : deep ? deciders_.waits_deep : deciders_.waits) = true;
  }
}

// Whether the trip changes this memory, and changes it back: it counts itself in and out.
bool TripJudge::ChangesBack(const TripValue& memory) const {
  return std::ranges::any_of(logs_[kExecutions - 1].accesses, [&](const TripAccess& access) {
    return access.changes && access.base == memory.a && access.offset == memory.constant;
  });
}

bool TripJudge::StoresAtomically() {
  return std::ranges::any_of(logs_[0].accesses, [&](const TripAccess& access) {
    return access.stores && first_->MemoryValue(access.base, access.offset, access.bytes) !=
                                values_.Memory(access.base, access.offset, access.bytes, 0);
  });
}

// Each trip leaves other values in memory, or values that none of its conditions looks at.
bool TripJudge::ChangesMemory() {
  const bool swaps_exclusively = std::ranges::any_of(
      logs_[0].accesses, [](const TripAccess& access) { return access.exclusive && access.swaps; });
  if (swaps_exclusively) return true;
  const TripLog& log = logs_[kExecutions - 1];
  return std::ranges::any_of(log.accesses, [&](const TripAccess& access) {
    if (access.swaps) return true;
    return access.stores && state_.MemoryValue(access.base, access.offset, access.bytes) !=
                                before_last_->MemoryValue(access.base, access.offset, access.bytes);
  });
}

TripVerdict TripJudge::Decide(const TripChanges& changes) {
  if (deciders_.random) return Verdict(LoopKind::kWork, LoopReason::kReadsClock);
  if (changes.works())
    return Verdict(LoopKind::kWork,
                   changes.reads_along() ? LoopReason::kChangesAddress : LoopReason::kCounts);
  if (deciders_.returns_elsewhere) return Verdict(LoopKind::kWork, LoopReason::kCounts);
  if (deciders_.reads_along || first_->MovesStack())
    return Verdict(LoopKind::kWork, LoopReason::kChangesAddress);
  if (deciders_.clock && !deciders_.waits)
    return Verdict(LoopKind::kDelay, LoopReason::kReadsClock);
  if (deciders_.failed) return Verdict(LoopKind::kRetry, LoopReason::kNone);
  if (Stores()) return Verdict(LoopKind::kWork, LoopReason::kStores);
  if (deciders_.ends) return Verdict(LoopKind::kWork, LoopReason::kEndsByItself);
  // Counting how often it waited, or who waits, does not end a wait for something else.
  const bool waits_meanwhile = deciders_.waits && free_.log().pauses;
  if (ChangesMemory() && !waits_meanwhile)
    return Verdict(LoopKind::kDoubtful, LoopReason::kEndsByItself);
  if (deciders_.overtaken) return Verdict(LoopKind::kWait, LoopReason::kNone);
  if (deciders_.waits) return Verdict(LoopKind::kWait, LoopReason::kNone);
  if (deciders_.waits_on_own) {
    return free_.log().pauses || free_.log().sleeps
               ? Verdict(LoopKind::kWait, LoopReason::kNone)
               : Verdict(LoopKind::kDoubtful, LoopReason::kStores);
  }
  return DecideQuiet();
}

// No condition that leaves the loop depends on memory that others write.
TripVerdict TripJudge::DecideQuiet() {
  const bool lets_pass = free_.log().pauses || !ReadsMemory();
  if (deciders_.counts)
    return Verdict(lets_pass ? LoopKind::kDelay : LoopKind::kWork, LoopReason::kCounts);
  if (StoresAtomically()) return Verdict(LoopKind::kDoubtful, LoopReason::kStores);
  if (free_.Has(Outcome::kUnknown)) return Verdict(LoopKind::kDoubtful, LoopReason::kUnknownCode);
  if (deciders_.waits_within || deciders_.waits_on_stack)
    return Verdict(LoopKind::kWait, LoopReason::kNone);
  return Verdict(free_.log().pauses ? LoopKind::kDelay : LoopKind::kWork,
                 LoopReason::kReadsNothing);
}

}  // namespace

TripVerdict JudgeTrip(std::span<const TripPart> parts) {
  if (parts.empty()) return {};
  const ReadTrip trip = ReadTripParts(parts);
  if (trip.failed != LoopReason::kNone) return {.kind = LoopKind::kDoubtful, .reason = trip.failed};
  return TripJudge(trip.instructions, parts.front().mode).Judge();
}

BlockTraits TraitsOf(Bytes code, uint64_t, CodeMode mode) {
  BlockTraits traits;
  MemoryTraits one;
  for (size_t at = 0;
       at < code.size() && MemoryTraitsOf(code.subspan(at), mode, one) && one.length != 0;
       at += one.length) {
    traits.stores = traits.stores || one.stores;
    traits.atomic = traits.atomic || one.atomic;
    traits.pauses = traits.pauses || one.pauses;
  }
  return traits;
}

}  // namespace flowback
