// SPDX-License-Identifier: MIT
// A function's disassembly on a page: counts, arrows of its branches, and the source between,
// copies that were inlined into it marked as such.
#pragma once

#include <string>

#include "cli/coverage/source_reader.h"
#include "flowback/replay/coverage_report.h"

namespace flowback::cli {

// Of what was executed.
void AppendHtmlFunction(const CoverageReport& report, const ObjectCoverage& object,
                        const FunctionCoverage& function, SourceReader& sources, std::string& out);

// The class of a row by what is known of it.
const char* HtmlClassOf(Executed state, bool one_way);
bool WentOneWay(uint64_t taken, uint64_t not_taken);

}  // namespace flowback::cli
