// SPDX-License-Identifier: MIT
// A function's disassembly on a page: counts, arrows of its branches, and the source between,
// copies that were inlined into it marked as such.
#pragma once

#include <string>

#include "flowback/replay/coverage_report.h"
#include "replay/coverage/report/source_reader.h"

namespace flowback {

// Of what was executed.
void AppendHtmlFunction(const CoverageReport& report, const ObjectCoverage& object,
                        const FunctionCoverage& function, SourceReader& sources, std::string& out);

// The class of a row by what is known of it.
const char* HtmlClassOf(Executed state, bool one_way);

}  // namespace flowback
