// SPDX-License-Identifier: MIT
// A function's instructions with their counts, as reports show them.
#pragma once

#include <functional>
#include <string>

#include "decode/instruction/disassemble.h"
#include "flowback/replay/coverage_report.h"

namespace flowback {

struct InstructionLine {
  uint64_t address = 0;
  uint64_t times = 0;
  Executed state = Executed::kNo;
  std::string text;      // "jne 0x401005"
  std::string leads_to;  // the function that it calls, or jumps to from its own; empty: none
  SourceLine at;
  const BranchCoverage* branch = nullptr;  // null: no conditional branch
  uint64_t target = 0;                     // of a direct jump or conditional branch; else 0
  uint64_t scope = 0;                      // SourcePlace::scope
  bool is_inlined = false;                 // `at` lies in a function that was inlined here
  bool may_be_unseen = false;              // ObjectCoverage::unknown
};

// Returns whether the instruction leads out of its function: what it leads to has a name then.
bool LeadsToFunction(const StaticCode& code, const StaticInstruction& at);
// Returns the instruction's text, such as "jne 0x401005".
std::string TextOfInstruction(Disassembler& disassembler, const ObjectImage& image,
                              const StaticInstruction& at);
// Calls `visit` for each of the function's instructions, in the order of addresses.
void ForEachInstruction(const ObjectCoverage& object, const FunctionCoverage& function,
                        const std::function<void(const InstructionLine& line)>& visit);

}  // namespace flowback
