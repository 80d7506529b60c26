// SPDX-License-Identifier: MIT
// The registers in which processors keep the branches that they took last, and what their bits say.
// Sources: Arm's system registers (DDI 0601), Intel's manual, volume 4, AMD's processor references.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/recorded/branch_records.h"

namespace flowback {

// A hardware unit that records branches.
enum class BranchUnit : uint8_t {
  kBrbe,     // Arm's Branch Record Buffer Extension
  kArchLbr,  // Intel's architectural LBR
  kLbr,      // Intel's LBR of one processor or another: see IA32_PERF_CAPABILITIES
  kBrs,      // AMD's Branch Sampling (Zen 3)
  kLbrV2     // AMD's Last Branch Records (Zen 4 and later)
};

// Returns the unit that a dump calls so: "brbe". Empty: no unit has that name.
std::optional<BranchUnit> BranchUnitNamed(std::string_view name);
// All their names, for messages.
std::string_view BranchUnitNames();
// Returns the architecture of the code that it records, as Linux names machines.
std::string_view ArchitectureOf(BranchUnit unit);

struct BranchRegister {
  enum class Role : uint8_t {
    kFrom,  // of a record
    kTo,
    kInfo,
    kSelect,  // which kinds of branches, on BRBE which half of the records, too
    kControl,
    kUpperControl,  // of the level above
    kNewest,        // which record that is
    kDepth,
    kIgnored
  };
  Role role = Role::kIgnored;
  uint32_t number = 0;  // of the record; 0 where the role is of none
  auto operator<=>(const BranchRegister&) const = default;
};

// Finds a register by its name in the manual, in any case, or by 0x and the number of the MSR.
// Empty: the unit has no such register.
std::optional<BranchRegister> BranchRegisterNamed(BranchUnit unit, std::string_view name);

using BranchRegisters = std::map<BranchRegister, uint64_t>;

struct RegisterStacks {
  // The newest first, each; the oldest stack first. More than one: what a record between them says
  // can't be trusted.
  std::vector<std::vector<BranchRecord>> stacks;
  bool all_kinds = true;  // by the filter; true also where the dump does not have it
  bool call_stacks = false;
  bool names_compare = false;  // as in BranchStackConfig
  TracedLevels levels;         // for each record; empty: unknown
  uint64_t incomplete = 0;     // records that lack a register
  uint64_t bad = 0;            // that the hardware marks as bad
};

// What the unit's registers hold. BRBE's second half of records has numbers from 32 on.
RegisterStacks StacksOf(BranchUnit unit, const BranchRegisters& registers);

}  // namespace flowback
