// SPDX-License-Identifier: MIT
// A trip executed with each load a value of its own, as if other threads wrote all the time: which
// loads does a condition depend on, and which attempts to change memory failed?
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "replay/locks/loops/trip_state.h"
#include "replay/locks/loops/trip_values.h"

namespace flowback {

// Executes the trip twice in a row: conditions at its begin may look at what the trip before
// loaded. Not thread-safe.
class FreeTrip {
 public:
  FreeTrip(std::span<const TripInstruction> trip, CodeMode mode);

  // The log of both executions.
  const TripLog& log() const { return log_; }
  // Conditions of one execution; their numbers are asked with below.
  size_t conditions() const { return log_.conditions.size() / 2; }
  // What came of each attempt of one execution, as the way shows that the trip went.
  const std::vector<Outcome>& outcomes() const { return outcomes_; }
  bool Has(Outcome outcome) const;

  // Whether a condition depends on an attempt that failed.
  bool DependsOnFailure(size_t condition) const;
  // Whether it depends on memory other than the stack.
  bool DependsOnLoad(size_t condition) const;
  // Whether it depends on what an atomic operation took out of memory, and the trip uses that as a
  // pointer: whoever takes a lock does not.
  bool FollowsExchanged(size_t condition) const;

 private:
  Outcome OutcomeOf(size_t attempt);
  bool Contradicts(const TripAttempt& attempt, bool done, std::span<const TripCondition> within);
  bool DependsOn(size_t condition, const std::function<bool(ValueId)>& what) const;
  bool IsAtomicLoad(ValueId id) const;

  TripValues values_;
  TripLog log_;
  std::vector<Outcome> outcomes_;
};

}  // namespace flowback
