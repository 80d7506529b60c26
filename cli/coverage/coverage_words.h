// SPDX-License-Identifier: MIT
// Shares and names as reports put them.
#pragma once

#include <string>
#include <string_view>

#include "flowback/replay/coverage_report.h"
#include "replay/writers/text/path_text.h"

namespace flowback::cli {

// "31.2 %"; never 100 % of less than all, nor 0 % of more than nothing. "-" of nothing.
std::string PercentOf(const CoverageShare& share);
// "31.2": the number alone, for formats that machines read; 100 of nothing.
double PercentNumber(const CoverageShare& share);
// "52/167", with "+3?" behind what is not known.
std::string FractionOf(const CoverageShare& share);
// A function's name, or "[function at 0x1234]". Printable.
std::string FunctionWords(const StaticFunction& function);
// The last part of a path.
// What the object's counts call it; printable.
std::string ObjectWords(const ObjectCoverage& object);
// The object that the report is about first: the program, not a library that it uses. Null: none
// of them was executed.
const ObjectCoverage* MainObject(const CoverageReport& report);

}  // namespace flowback::cli
