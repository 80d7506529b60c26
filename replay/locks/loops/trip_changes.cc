// SPDX-License-Identifier: MIT
// Each leaf (a register or memory at the trip's begin) depends on the leaves that its value after
// the trip is made from. Leaves that depend on no others, or on those only that do not, settle:
// they are the same with each trip, soon if not at once. The others vary.
#include "replay/locks/loops/trip_changes.h"

#include <algorithm>
#include <iterator>

namespace flowback {
namespace {

// The leaves in `value` other than those bits of `leaf` that stay in their place.
void LeavesThatChange(const TripValues& values, ValueId leaf, ValueId value,
                      std::vector<ValueId>& out) {
  if (value == leaf) return;
  const TripValue& at = values[value];
  if (at.kind == ValueKind::kComputed && at.operation == StepOperation::kOr) {
    LeavesThatChange(values, leaf, at.a, out);
    return LeavesThatChange(values, leaf, at.b, out);
  }
  if (at.kind == ValueKind::kComputed && at.operation == StepOperation::kAnd &&
      values.IsConstant(at.b))
    return LeavesThatChange(values, leaf, at.a, out);
  AnyWithin(values, value, [&](ValueId id) {
    if (IsLeaf(values[id])) out.push_back(id);
    return false;
  });
}

}  // namespace

bool IsLeaf(const TripValue& value) {
  return value.kind == ValueKind::kRegister || value.kind == ValueKind::kMemory;
}

TripChanges::TripChanges(TripValues& values, TripState& after) : values_(values) {
  FindVarying(after);
  std::unordered_map<ValueId, bool> known;
  for (const ValueId leaf : own_) {
    if (IsCounter(after_[leaf], known)) continue;
    works_ = true;
    reads_along_ = reads_along_ || ReadsAlong(after_[leaf]);
  }
}

void TripChanges::FindVarying(TripState& after) {
  std::unordered_map<ValueId, std::vector<ValueId>> needs;
  for (ValueId id = 0; id < values_.size(); ++id) {
    const TripValue leaf = values_[id];
    if (!IsLeaf(leaf)) continue;
    const bool is_register = leaf.kind == ValueKind::kRegister;
    if (is_register &&
        (leaf.constant >= step_register::kTemporary || leaf.constant == step_register::kFlags))
      continue;
    const ValueId value = is_register ? after.RegisterValue(static_cast<uint8_t>(leaf.constant))
                                      : after.MemoryValue(leaf.a, leaf.constant, leaf.b);
    if (value == id) continue;
    after_[id] = value;
    LeavesThatChange(values_, id, value, needs[id]);
    varying_.insert(id);
  }
  for (bool settled = true; settled;) {
    settled = std::erase_if(varying_, [&](ValueId id) {
                return std::ranges::none_of(
                    needs[id], [&](ValueId needed) { return varying_.contains(needed); });
              }) != 0;
  }
  // Only variables that others follow remain once those that nothing follows are gone.
  own_ = varying_;
  for (bool settled = true; settled;) {
    std::unordered_set<ValueId> needed;
    for (const ValueId id : own_) needed.insert(needs[id].begin(), needs[id].end());
    settled = std::erase_if(own_, [&](ValueId id) { return !needed.contains(id); }) != 0;
  }
}

bool TripChanges::Varies(ValueId value) const {
  return AnyWithin(values_, value, [&](ValueId id) { return varying_.contains(id); });
}

bool TripChanges::ReadsAlong(ValueId value) const {
  return AnyWithin(values_, value, [&](ValueId id) {
    return values_[id].kind == ValueKind::kMemory && Varies(values_[id].a);
  });
}

// Sums with what stays the same, and doubling, as a backoff does: nothing that could be the result
// of a computation.
bool TripChanges::IsCounter(ValueId value, std::unordered_map<ValueId, bool>& known) const {
  if (const auto at = known.find(value); at != known.end()) return at->second;
  const bool is = !Varies(value) || IsCounterStep(value, known);
  known[value] = is;
  return is;
}

bool TripChanges::IsCounterStep(ValueId id, std::unordered_map<ValueId, bool>& known) const {
  const TripValue& value = values_[id];
  if (value.kind == ValueKind::kRegister) return true;
  if (value.kind == ValueKind::kMemory) return !Varies(value.a);
  if (value.kind != ValueKind::kComputed) return false;
  switch (value.operation) {
    case StepOperation::kShiftLeft:  // by one bit or none where that varies
      return (!Varies(value.b) || (values_[value.b].zeros | 1) == ~uint64_t{0}) &&
             IsCounter(value.a, known);
    case StepOperation::kCopy:
    case StepOperation::kSignExtend:
    case StepOperation::kShiftRight:
    case StepOperation::kShiftRightSigned:
    case StepOperation::kAnd:
      return !Varies(value.b) && IsCounter(value.a, known);
    case StepOperation::kOr:  // of the parts of a register
    case StepOperation::kSubtract:
    case StepOperation::kAdd:
      if (!Varies(value.b)) return IsCounter(value.a, known);
      return !Varies(value.a) && IsCounter(value.b, known);
    case StepOperation::kSelect:
      return IsCounter(value.b, known) && IsCounter(value.c, known);
    default:
      return false;
  }
}

}  // namespace flowback
