// SPDX-License-Identifier: MIT
// Intel's and AMD's last branch records.
#include <algorithm>

#include "capture/formats/branches/branch_units.h"

namespace flowback {
namespace {

using Role = BranchRegister::Role;
using Cycles = BranchFacts::Cycles;
using Prediction = BranchFacts::Prediction;

constexpr uint64_t kMostCycles = 0xffff;

Prediction PredictionOf(bool wrong) { return wrong ? Prediction::kWrong : Prediction::kRight; }

void SetWordCycles(uint64_t cycles, BranchRecord& record) {
  record.cycles = static_cast<uint32_t>(cycles);
  record.cycles_told = cycles == kMostCycles ? Cycles::kAtLeast : Cycles::kExact;
}

BranchKind ArchKindOf(uint64_t type) {
  constexpr BranchKind kinds[] = {BranchKind::kConditional, BranchKind::kIndirectJump,
                                  BranchKind::kJump,        BranchKind::kIndirectCall,
                                  BranchKind::kCall,        BranchKind::kReturn};
  return type < std::size(kinds) ? kinds[type] : BranchKind::kNotTold;
}

// Where the first bit of the formats is that says which levels were left out.
void ApplySuppressing(uint64_t select, uint64_t kinds, RegisterStacks& result) {
  result.levels = {!Bit(select, 1), !Bit(select, 0)};
  result.all_kinds = (select & kinds) == 0;
}

// IA32_PERF_CAPABILITIES.LBR_FMT: what else is in FROM, TO and INFO.
enum LbrFormat : uint64_t {
  kHalves = 0,  // one register: FROM in its lower half, TO in the upper
  kPlain1 = 1,
  kPlain2 = 2,
  kFlags = 3,             // FROM: mispredicted
  kTransactions = 4,      // FROM: mispredicted, in a transaction, aborted
  kInfo = 5,              // INFO: these and cycles
  kCyclesInTo = 6,        // FROM: mispredicted; TO: cycles
  kInfoNoTransaction = 7  // INFO: mispredicted, cycles
};

void ApplyInfo(uint64_t info, bool transactions, BranchRecord& record) {
  record.prediction = PredictionOf(Bit(info, 63));
  record.in_transaction = transactions && Bit(info, 62);
  record.aborted = transactions && Bit(info, 61);
  SetWordCycles(Bits(info, 15, 0), record);
}

// Empty: a register that the format needs is not there.
std::optional<BranchRecord> LbrRecord(const BranchRegisters& registers, uint64_t format,
                                      uint32_t number) {
  const auto from = ValueOf(registers, Role::kFrom, number);
  const auto to = ValueOf(registers, Role::kTo, number);
  const auto info = ValueOf(registers, Role::kInfo, number);
  const bool has_info = format == kInfo || format == kInfoNoTransaction;
  if (!from || (!to && format != kHalves) || (has_info && !info)) return std::nullopt;
  BranchRecord record;
  record.from = *from;
  record.to = to.value_or(0);
  if (format == kHalves) {
    record.from = Bits(*from, 31, 0);
    record.to = Bits(*from, 63, 32);
  }
  if (format == kFlags || format == kCyclesInTo || format == kTransactions) {
    record.prediction = PredictionOf(Bit(*from, 63));
    record.from = SignExtended(*from, format == kTransactions ? 60 : 62);
  }
  if (format == kTransactions) {
    record.in_transaction = Bit(*from, 62);
    record.aborted = Bit(*from, 61);
  }
  if (format == kCyclesInTo) {
    SetWordCycles(Bits(*to, 63, 48), record);
    record.to = SignExtended(*to, 47);
  }
  if (has_info) ApplyInfo(*info, format == kInfo, record);
  return record;
}

}  // namespace

// Record 0 is the newest; the first that came from 0 ends the list.
RegisterStacks ArchLbrStacks(const BranchRegisters& registers) {
  StackBuilder stacks;
  if (const auto control = ValueOf(registers, Role::kSelect)) {
    constexpr uint64_t kAll = 0x7f;
    stacks.result.levels = {Bit(*control, 2), Bit(*control, 1)};
    stacks.result.call_stacks = Bit(*control, 3);
    stacks.result.all_kinds = Bits(*control, 22, 16) == kAll;
  }
  const uint64_t told = RecordsIn(registers);
  const uint64_t depth = std::min(ValueOf(registers, Role::kDepth).value_or(told), told);
  for (uint32_t i = 0; i < depth; ++i) {
    const auto from = ValueOf(registers, Role::kFrom, i);
    const auto to = ValueOf(registers, Role::kTo, i);
    if (from && *from == 0) break;
    if (!from || !to) {
      stacks.AddIncomplete();
      continue;
    }
    BranchRecord record;
    record.from = *from;
    record.to = *to;
    if (const auto info = ValueOf(registers, Role::kInfo, i)) {
      ApplyInfo(*info, true, record);
      if (!Bit(*info, 60)) record.cycles_told = Cycles::kNotTold, record.cycles = 0;
      record.kind = ArchKindOf(Bits(*info, 59, 56));
      record.counters = Bits(*info, 39, 32);
    }
    stacks.Add(record);
  }
  return stacks.Take();
}

// A ring: the newest is the one that TOS names. Entries never written are zero.
RegisterStacks LbrStacks(const BranchRegisters& registers) {
  StackBuilder stacks;
  const auto newest = ValueOf(registers, Role::kNewest);
  const auto capabilities = ValueOf(registers, Role::kControl);
  const uint32_t depth = RecordsIn(registers);
  if (const auto select = ValueOf(registers, Role::kSelect))
    ApplySuppressing(*select, 0x1fc, stacks.result);
  // Without these it is not known which record is which, or what its bits are.
  if (!newest || !capabilities || depth == 0 || *newest >= depth) {
    stacks.result.incomplete = depth;
    return stacks.Take();
  }
  for (uint32_t i = 0; i < depth; ++i) {
    const auto number = static_cast<uint32_t>((*newest + depth - i) % depth);
    const auto record = LbrRecord(registers, Bits(*capabilities, 5, 0), number);
    if (!record)
      stacks.AddIncomplete();
    else if (record->empty())
      break;
    else
      stacks.Add(*record);
  }
  return stacks.Take();
}

// Filled from 0 on, and then it stops: the newest is below the index that is written next.
RegisterStacks BrsStacks(const BranchRegisters& registers) {
  constexpr uint64_t kPoison = ~uint64_t{1};  // Linux writes it where nothing was recorded
  constexpr unsigned kHighestAddressBit = 47;
  StackBuilder stacks;
  const auto settings = ValueOf(registers, Role::kNewest);
  if (!settings) {
    stacks.result.incomplete = RecordsIn(registers);
    return stacks.Take();
  }
  const auto next = static_cast<uint32_t>(Bits(*settings, 19, 16));
  for (uint32_t i = next; Bit(*settings, 5) && i-- > 0;) {
    const auto from = ValueOf(registers, Role::kFrom, i);
    const auto to = ValueOf(registers, Role::kTo, i);
    if (to && *to == kPoison) break;
    if (!from || !to) {
      stacks.AddIncomplete();
      continue;
    }
    BranchRecord record;
    record.from = *from;
    record.to = SignExtended(*to, kHighestAddressBit);
    stacks.Add(record);
  }
  return stacks.Take();
}

// Record 0 is the newest; one that is neither valid nor speculative ends the list.
RegisterStacks LbrV2Stacks(const BranchRegisters& registers) {
  constexpr unsigned kHighestAddressBit = 57;
  StackBuilder stacks;
  stacks.result.names_compare = true;
  if (const auto select = ValueOf(registers, Role::kSelect))
    ApplySuppressing(*select, 0x1fc, stacks.result);
  for (uint32_t i = 0; i < RecordsIn(registers); ++i) {
    const auto from = ValueOf(registers, Role::kFrom, i);
    const auto to = ValueOf(registers, Role::kTo, i);
    if (!from || !to) {
      stacks.AddIncomplete();
      continue;
    }
    const bool valid = Bit(*to, 63), speculative = Bit(*to, 62);
    if (Bit(*to, 61)) {  // erratum 1452
      ++stacks.result.bad;
      stacks.Cut();
      continue;
    }
    if (!valid && !speculative) break;
    BranchRecord record;
    record.from = SignExtended(*from, kHighestAddressBit);
    record.to = SignExtended(*to, kHighestAddressBit);
    record.prediction = PredictionOf(Bit(*from, 63));
    record.path = !valid        ? BranchRecord::Path::kWrong
                  : speculative ? BranchRecord::Path::kRightSpeculative
                                : BranchRecord::Path::kRight;
    stacks.Add(record);
  }
  return stacks.Take();
}

}  // namespace flowback
