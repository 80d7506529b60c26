// SPDX-License-Identifier: MIT
// Shares, names and counts as coverage reports write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flowback/replay/coverage_report.h"
#include "replay/coverage/report/instruction_lines.h"

namespace flowback {

struct CoverageView;  // flowback/writers.h

// Returns the sentences that the summary begins with: how much of the program was executed, and how
// much is unknown.
std::vector<std::string> CoverageSentences(const CoverageView& view);

// Returns PercentNumber as text, such as "31.2 %". Returns "-" for an empty share.
std::string PercentOf(const CoverageShare& share);
// Returns "52/167", with " (3?)" after it if 3 are not known to have executed or not.
std::string FractionOf(const CoverageShare& share);
// Returns the function's name, printable, or "[function at 0x1234]".
std::string FunctionWords(const StaticFunction& function);
// Returns the object's path, printable.
std::string ObjectWords(const ObjectCoverage& object);
// Returns a count as gcov marks it: "12", "#####" if the code never executed, "?????" if that is
// not known.
std::string CountWords(uint64_t times, Executed state);
// Returns both directions' counts, such as "taken 3, not 4" or "always taken, 3"; empty for a
// branch that was never reached.
std::string BranchWords(uint64_t taken, uint64_t not_taken);

// "call 0x401040 <main>".
std::string TextWords(const InstructionLine& line);

}  // namespace flowback
