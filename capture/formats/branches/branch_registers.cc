// SPDX-License-Identifier: MIT
#include "capture/formats/branches/branch_registers.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

#include "base/text_words.h"
#include "capture/formats/branches/branch_units.h"

namespace flowback {
namespace {

using Role = BranchRegister::Role;

struct RegisterRow {
  BranchUnit unit;
  Role role;
  std::string_view before;
  std::string_view behind;
  uint64_t msr;
  uint64_t stride;

  bool is_numbered() const {
    return role == Role::kFrom || role == Role::kTo || role == Role::kInfo;
  }
};

constexpr RegisterRow kRegisters[] = {
#define FLOWBACK_BRANCH_REGISTER(unit, role, before, behind, msr, stride) \
  {BranchUnit::unit, Role::role, before, behind, msr, stride},
#include "capture/formats/branches/branch_registers.def"
#undef FLOWBACK_BRANCH_REGISTER
};

constexpr std::pair<std::string_view, BranchUnit> kUnits[] = {{"brbe", BranchUnit::kBrbe},
                                                              {"arch-lbr", BranchUnit::kArchLbr},
                                                              {"lbr", BranchUnit::kLbr},
                                                              {"brs", BranchUnit::kBrs},
                                                              {"lbrv2", BranchUnit::kLbrV2}};

constexpr uint64_t kMostRecords = 64;

bool IsEqual(std::string_view one, std::string_view other) {
  return std::ranges::equal(one, other, [](unsigned char a, unsigned char b) {
    return std::toupper(a) == std::toupper(b);
  });
}

// The number of a record's register; empty: the name is another one's.
std::optional<uint32_t> NumberByName(const RegisterRow& row, std::string_view name) {
  const size_t around = row.before.size() + row.behind.size();
  if (name.size() < around || !IsEqual(name.substr(0, row.before.size()), row.before) ||
      !IsEqual(name.substr(name.size() - row.behind.size()), row.behind))
    return std::nullopt;
  if (!row.is_numbered()) return name.size() == around ? std::optional(0U) : std::nullopt;
  const auto number = Number(name.substr(row.before.size(), name.size() - around), 10);
  if (!number || *number >= kMostRecords) return std::nullopt;
  return static_cast<uint32_t>(*number);
}

std::optional<uint32_t> NumberByMsr(const RegisterRow& row, uint64_t msr) {
  if (row.msr == 0 || msr < row.msr) return std::nullopt;
  const uint64_t behind = msr - row.msr;
  if (!row.is_numbered()) return behind == 0 ? std::optional(0U) : std::nullopt;
  if (behind % row.stride != 0 || behind / row.stride >= kMostRecords) return std::nullopt;
  return static_cast<uint32_t>(behind / row.stride);
}

}  // namespace

std::optional<BranchUnit> BranchUnitNamed(std::string_view name) {
  for (const auto& [each, unit] : kUnits)
    if (each == name) return unit;
  return std::nullopt;
}

std::string_view BranchUnitNames() { return "brbe, arch-lbr, lbr, brs, lbrv2"; }

std::string_view ArchitectureOf(BranchUnit unit) {
  return unit == BranchUnit::kBrbe ? "aarch64" : "x86_64";
}

// Registers with one MSR go before those with many, whose ranges would include them.
std::optional<BranchRegister> BranchRegisterNamed(BranchUnit unit, std::string_view name) {
  const std::optional<uint64_t> msr =
      name.starts_with("0x") ? Number(name, 16) : std::optional<uint64_t>();
  for (const bool numbered : {false, true}) {
    for (const RegisterRow& row : kRegisters) {
      if (row.unit != unit || row.is_numbered() != numbered) continue;
      if (const auto number = msr ? NumberByMsr(row, *msr) : NumberByName(row, name))
        return BranchRegister{row.role, *number};
    }
  }
  return std::nullopt;
}

uint32_t RecordsIn(const BranchRegisters& registers) {
  uint32_t records = 0;
  for (const auto& [each, value] : registers)
    if (each.role == Role::kFrom || each.role == Role::kTo || each.role == Role::kInfo)
      records = std::max(records, each.number + 1);
  return records;
}

RegisterStacks StacksOf(BranchUnit unit, const BranchRegisters& registers) {
  switch (unit) {
    case BranchUnit::kBrbe:
      return BrbeStacks(registers);
    case BranchUnit::kArchLbr:
      return ArchLbrStacks(registers);
    case BranchUnit::kLbr:
      return LbrStacks(registers);
    case BranchUnit::kBrs:
      return BrsStacks(registers);
    case BranchUnit::kLbrV2:
      return LbrV2Stacks(registers);
  }
  return {};
}

}  // namespace flowback
