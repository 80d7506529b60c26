// SPDX-License-Identifier: MIT
// The values that a trip computes, as a graph: a constant, a register or memory as it was when the
// trip began, or an operation on other values.
//
// Two values that are computed in the same way from the same values have the same number, so
// "unchanged" is one comparison. Constants are folded, and bits that are known although the value
// is not (x | 1) fold what depends on them alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "decode/instruction/effects.h"

namespace flowback {

using ValueId = uint32_t;

// Where a value comes from.
enum class ValueKind : uint8_t {
  kConstant,
  kRegister,  // as it was when the trip began
  kMemory,    // as it was when the trip began, at `a` + constant
  kComputed,
  kClock,       // each one is another value
  kRandom,      // each one is another value
  kKernel,      // what a system call returned
  kStoreTried,  // 0 where an exclusive store was done
};

struct TripValue {
  ValueKind kind = ValueKind::kConstant;
  StepOperation operation = StepOperation::kCopy;
  uint8_t condition = 0;
  uint8_t bits = 64;  // above these it is 0
  ValueId a = 0;
  ValueId b = 0;
  ValueId c = 0;
  // The constant; a register's number; memory's distance from `a`; which operation, of kOther.
  uint64_t constant = 0;
  uint64_t ones = 0;   // bits known as 1
  uint64_t zeros = 0;  // bits known as 0

  friend bool operator==(const TripValue&, const TripValue&) = default;
};

// Not thread-safe.
class TripValues {
 public:
  TripValues();

  const TripValue& operator[](ValueId id) const { return values_[id]; }
  size_t size() const { return values_.size(); }

  ValueId Constant(uint64_t value);
  ValueId Register(uint8_t number, unsigned bits);
  // `bytes` of memory. `load` is 0, or sets loads of the same memory apart.
  ValueId Memory(ValueId base, uint64_t offset, unsigned bytes, uint64_t load);
  ValueId Source(ValueKind kind, uint64_t number);
  ValueId Compute(StepOperation operation, unsigned bits, ValueId a, ValueId b = 0, ValueId c = 0,
                  uint8_t condition = 0, uint64_t constant = 0);

  // The lowest `bits` of `value`, from bit `shift` on.
  ValueId Bits(ValueId value, unsigned bits, unsigned shift = 0);
  // `value` with the lowest `bits` of `part` at `shift`.
  ValueId Insert(ValueId value, ValueId part, unsigned bits, unsigned shift);

  bool IsConstant(ValueId id) const { return values_[id].kind == ValueKind::kConstant; }
  std::optional<uint64_t> ConstantOf(ValueId id) const {
    if (!IsConstant(id)) return std::nullopt;
    return values_[id].constant;
  }

  struct Place {
    ValueId base = 0;
    uint64_t offset = 0;
  };
  // An address as a value and a constant distance from it.
  Place PlaceOf(ValueId address) const;

  // `value` as it would be if `from` were `to`.
  ValueId Replace(ValueId value, ValueId from, ValueId to);

 private:
  struct Hash {
    size_t operator()(const TripValue& value) const;
  };

  ValueId Keep(TripValue value);
  bool IsPartOf(ValueId part, StepOperation operation, ValueId whole) const;
  std::optional<ValueId> Fold(const TripValue& value);
  std::optional<ValueId> FoldBit(const TripValue& bit);
  ValueId ReplaceIn(ValueId value, ValueId from, ValueId to,
                    std::unordered_map<ValueId, ValueId>& done);

  std::vector<TripValue> values_;
  std::unordered_map<TripValue, ValueId, Hash> numbers_;
};

// Whether `condition` holds for flags; empty where that is not known.
std::optional<bool> ConditionHolds(const TripValues& values, uint8_t condition, ValueId flags);

}  // namespace flowback
