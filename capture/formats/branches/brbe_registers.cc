// SPDX-License-Identifier: MIT
// Arm's BRBE. Record 0 is the newest; the first that is not valid ends the list.
//
//   BRBINF<n>_EL1   63      47 46  45 40 39 32      17      16  15 14 13  8 7 6   5   4 2 1   0
//                  |          |CCU| exp | mant|...|LASTFAILED| T |    | TYPE| EL|MPRED|  |VALID|
#include <algorithm>

#include "capture/formats/branches/branch_units.h"

namespace flowback {
namespace {

using Role = BranchRegister::Role;
using Cycles = BranchFacts::Cycles;

// A transaction failed ahead of the branch: control came from an unknown place.
constexpr unsigned kLastFailed = 17;
constexpr uint64_t kTargetOnly = 1;  // VALID
constexpr uint64_t kSourceOnly = 2;

BranchKind KindOf(uint64_t type) {
  switch (type) {
    case 0x00:
      return BranchKind::kJump;
    case 0x01:
      return BranchKind::kIndirectJump;
    case 0x02:
      return BranchKind::kCall;
    case 0x03:
      return BranchKind::kIndirectCall;
    case 0x05:
      return BranchKind::kReturn;
    case 0x07:
      return BranchKind::kExceptionReturn;
    case 0x08:
      return BranchKind::kConditional;
    case 0x21:
      return BranchKind::kArchitecture2;  // entry to debug state
    case 0x22:
      return BranchKind::kSystemCall;
    case 0x23:  // trap
    case 0x2e:  // IRQ
      return BranchKind::kInterrupt;
    case 0x24:
      return BranchKind::kSystemError;
    case 0x26:
      return BranchKind::kArchitecture4;
    case 0x27:
      return BranchKind::kArchitecture5;
    case 0x2a:
      return BranchKind::kAlignmentFault;
    case 0x2b:
      return BranchKind::kInstructionFault;
    case 0x2c:
      return BranchKind::kDataFault;
    case 0x2f:
      return BranchKind::kArchitecture1;  // FIQ
    case 0x39:
      return BranchKind::kArchitecture3;  // exit from debug state
    default:
      return BranchKind::kNotTold;
  }
}

// A short float: 8 bits behind a leading 1 that is not stored, except of small numbers. Where it
// has fewer bits than the number, the hardware rounds down; all ones is more than it counts.
void SetFloatCycles(uint64_t info, BranchRecord& record) {
  constexpr uint64_t kExceeded = 0x3fff;
  constexpr uint64_t kLargestExponent = 12;  // of a counter of 20 bits
  if (Bit(info, 46)) return;                 // not known
  const uint64_t exponent = Bits(info, 45, 40), mantissa = Bits(info, 39, 32);
  const bool exceeded = Bits(info, 45, 32) == kExceeded || exponent > kLargestExponent;
  const uint64_t largest = 0x1ff << (kLargestExponent - 1);
  record.cycles = static_cast<uint32_t>(exceeded        ? largest
                                        : exponent == 0 ? mantissa
                                                        : (0x100 + mantissa) << (exponent - 1));
  record.cycles_told = exceeded || exponent > 1 ? Cycles::kAtLeast : Cycles::kExact;
}

BranchRecord RecordOf(uint64_t info, uint64_t from, uint64_t to) {
  const uint64_t valid = Bits(info, 1, 0);
  BranchRecord record;
  record.kind = KindOf(Bits(info, 13, 8));
  record.in_transaction = Bit(info, 16);
  SetFloatCycles(info, record);
  if (valid != kTargetOnly) {
    record.from = from;
    record.prediction =
        Bit(info, 5) ? BranchFacts::Prediction::kWrong : BranchFacts::Prediction::kRight;
  }
  if (valid != kSourceOnly) {
    record.to = to;
    constexpr BranchRecord::Level levels[] = {
        BranchRecord::Level::kUser, BranchRecord::Level::kKernel, BranchRecord::Level::kHypervisor,
        BranchRecord::Level::kNotTold};
    record.level = levels[Bits(info, 7, 6)];
  }
  return record;
}

// What the settings leave out. CC and MPRED must be set at both levels, as far as the dump has
// them.
struct Settings {
  bool cycles = true;
  bool prediction = true;
};

Settings ApplySettings(const BranchRegisters& registers, RegisterStacks& result) {
  constexpr unsigned kMispredicted = 4, kCycles = 3;
  Settings settings;
  const auto control = ValueOf(registers, Role::kControl);
  const auto upper = ValueOf(registers, Role::kUpperControl);
  for (const auto& each : {control, upper}) {
    if (!each) continue;
    settings.cycles = settings.cycles && Bit(*each, kCycles);
    settings.prediction = settings.prediction && Bit(*each, kMispredicted);
  }
  if (control) result.levels = {Bit(*control, 0), Bit(*control, 1)};
  if (const auto select = ValueOf(registers, Role::kSelect)) {
    constexpr uint64_t kAll = 0x3f;
    const bool inverted = Bit(*select, 16);
    result.all_kinds = Bits(*select, 22, 17) == (inverted ? 0 : kAll);
  }
  return settings;
}

}  // namespace

RegisterStacks BrbeStacks(const BranchRegisters& registers) {
  StackBuilder stacks;
  const Settings settings = ApplySettings(registers, stacks.result);
  const uint64_t told = RecordsIn(registers);
  const uint64_t depth =
      std::min(Bits(ValueOf(registers, Role::kDepth).value_or(told), 7, 0), told);
  for (uint32_t i = 0; i < depth; ++i) {
    const auto info = ValueOf(registers, Role::kInfo, i);
    const auto from = ValueOf(registers, Role::kFrom, i);
    const auto to = ValueOf(registers, Role::kTo, i);
    const uint64_t valid = info ? Bits(*info, 1, 0) : 0;
    if (info && valid == 0) break;
    if (!info || (valid != kTargetOnly && !from) || (valid != kSourceOnly && !to)) {
      stacks.AddIncomplete();
      continue;
    }
    BranchRecord record = RecordOf(*info, from.value_or(0), to.value_or(0));
    if (!settings.cycles) record.cycles_told = Cycles::kNotTold, record.cycles = 0;
    if (!settings.prediction) record.prediction = BranchFacts::Prediction::kNotTold;
    stacks.Add(record);
    if (Bit(*info, kLastFailed)) stacks.Cut();
  }
  return stacks.Take();
}

}  // namespace flowback
