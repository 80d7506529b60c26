// SPDX-License-Identifier: MIT
// What differs from one trip to the next: counters, pointers that walk, states.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "replay/locks/loops/trip_state.h"
#include "replay/locks/loops/trip_values.h"

namespace flowback {

// What a register, or memory, was when the trip began.
bool IsLeaf(const TripValue& value);

// Finds what a trip changes in dependence on itself. REQUIRES: `after` is the state after one
// execution of the trip. Not thread-safe.
class TripChanges {
 public:
  TripChanges(TripValues& values, TripState& after);

  // Whether the value will be another one with the next trip, and the next, by the trip's own
  // doing.
  bool Varies(ValueId value) const;
  // Whether the value depends on memory at an address that varies.
  bool ReadsAlong(ValueId value) const;
  // Whether the trip changes more than counters in dependence on themselves, and whether that comes
  // from memory at an address that varies.
  bool works() const { return works_; }
  bool reads_along() const { return reads_along_; }

 private:
  void FindVarying(TripState& after);
  bool IsCounter(ValueId value, std::unordered_map<ValueId, bool>& known) const;
  bool IsCounterStep(ValueId value, std::unordered_map<ValueId, bool>& known) const;

  TripValues& values_;
  std::unordered_map<ValueId, ValueId> after_;  // what a trip makes of each leaf
  std::unordered_set<ValueId> varying_;
  std::unordered_set<ValueId> own_;  // of these, the ones made from themselves
  bool works_ = false;
  bool reads_along_ = false;
};

// Calls `see` for `value` and all that it is made from, the addresses of memory included, until
// `see` returns true; returns whether it did.
template <typename See>
bool AnyWithin(const TripValues& values, ValueId value, const See& see) {
  std::vector<ValueId> open{value};
  std::unordered_set<ValueId> seen;
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    if (!seen.insert(id).second) continue;
    if (see(id)) return true;
    const TripValue& at = values[id];
    if (at.kind == ValueKind::kMemory) open.push_back(at.a);
    if (at.kind != ValueKind::kComputed) continue;
    open.insert(open.end(), {at.a, at.b, at.c});
  }
  return false;
}

}  // namespace flowback
