// SPDX-License-Identifier: MIT
// One run of `flowback report`.
#pragma once

#include "cli/report/report_options.h"

namespace flowback::cli {

// Runs the analyses of all recordings and writes the page, or with --json its data. Returns the
// exit status: 0 also if an analysis has no answer, which the page then says.
int RunReportJob(const ReportOptions& options);

}  // namespace flowback::cli
