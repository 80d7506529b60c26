// SPDX-License-Identifier: MIT
// One input of `flowback coverage`: a recording, decoded into counts.
#pragma once

#include <utility>

#include "cli/reading/counting_job.h"

namespace flowback::cli {

class CoverageJob;  // cli/coverage/coverage_job.h

// Counts the recording's selected threads, and gives the counts to the job that makes the report.
class CoverageInputJob final : public CountingJob {
 public:
  // `report` and `options` must outlive it.
  CoverageInputJob(CoverageJob& report, const ReaderOptions& options, Recording recording)
      : CountingJob("coverage", options, std::move(recording)), report_(report) {}

 private:
  Status Count(const CoverageRequest& request, Output& output) override;

  CoverageJob& report_;
};

}  // namespace flowback::cli
