// SPDX-License-Identifier: MIT
// A function's disassembly on a page: counts, arrows for its branches, and the source lines between
// the instructions. Lines of inlined functions are marked.
#pragma once

#include <string>

#include "flowback/replay/coverage_report.h"
#include "replay/coverage/report/source_reader.h"

namespace flowback {

// Appends a function that executed.
void AppendHtmlFunction(const CoverageReport& report, const ObjectCoverage& object,
                        const FunctionCoverage& function, SourceReader& sources, std::string& out);

// Returns the CSS class of a row.
const char* HtmlClassOf(Executed state, bool one_way);

}  // namespace flowback
