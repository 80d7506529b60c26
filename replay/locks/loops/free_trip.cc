// SPDX-License-Identifier: MIT
#include "replay/locks/loops/free_trip.h"

#include <algorithm>

#include "replay/locks/loops/trip_changes.h"

namespace flowback {

FreeTrip::FreeTrip(std::span<const TripInstruction> trip, CodeMode mode) {
  TripState state(values_, mode);
  for (int i = 0; i < 2; ++i) state.Execute(trip, true, {}, log_);
  for (size_t i = 0; i < log_.attempts.size() / 2; ++i) outcomes_.push_back(OutcomeOf(i));
}

bool FreeTrip::Has(Outcome outcome) const {
  return std::ranges::find(outcomes_, outcome) != outcomes_.end();
}

// Where no condition of the trip itself looks at the attempt, one of the next trip may.
Outcome FreeTrip::OutcomeOf(size_t attempt) {
  const std::span<const TripCondition> all(log_.conditions);
  for (const auto& part : {all.first(conditions()), all.last(conditions())}) {
    if (Contradicts(log_.attempts[attempt], true, part)) return Outcome::kFailed;
    if (Contradicts(log_.attempts[attempt], false, part)) return Outcome::kDone;
  }
  return Outcome::kUnknown;
}

bool FreeTrip::Contradicts(const TripAttempt& attempt, bool done,
                           std::span<const TripCondition> within) {
  const ValueId status = values_.Constant(done ? 0 : 1);
  const ValueId known = attempt.exclusive ? status
                                          : values_.Compute(StepOperation::kFlagsOfDifference, 64,
                                                            status, values_.Constant(0));
  return std::ranges::any_of(within, [&](const TripCondition& condition) {
    if (condition.indirect) return false;
    const auto holds = values_.ConstantOf(values_.Replace(condition.value, attempt.decides, known));
    return holds && (*holds != 0) != condition.taken;
  });
}

bool FreeTrip::DependsOn(size_t condition, const std::function<bool(ValueId)>& what) const {
  return AnyWithin(values_, log_.conditions[conditions() + condition].value, what);
}

bool FreeTrip::DependsOnFailure(size_t condition) const {
  return DependsOn(condition, [&](ValueId id) {
    for (size_t i = 0; i < log_.attempts.size(); ++i) {
      if (outcomes_[i % outcomes_.size()] == Outcome::kFailed && log_.attempts[i].decides == id)
        return true;
    }
    return false;
  });
}

bool FreeTrip::DependsOnLoad(size_t condition) const {
  return DependsOn(condition, [&](ValueId id) {
    return values_[id].kind == ValueKind::kMemory && values_[id].c != 0;
  });
}

bool FreeTrip::IsAtomicLoad(ValueId id) const {
  return values_[id].kind == ValueKind::kMemory && values_[id].c != 0 &&
         std::ranges::any_of(log_.accesses, [&](const TripAccess& access) {
           return access.atomic && !access.stores && access.load == values_[id].c;
         });
}

bool FreeTrip::FollowsExchanged(size_t condition) const {
  return DependsOn(condition, [&](ValueId id) {
    return IsAtomicLoad(id) && std::ranges::any_of(log_.accesses, [&](const TripAccess& access) {
             return AnyWithin(values_, access.base, [&](ValueId within) { return within == id; });
           });
  });
}

}  // namespace flowback
