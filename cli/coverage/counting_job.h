// SPDX-License-Identifier: MIT
// One input of `flowback coverage`: a recording, decoded into counts.
#pragma once

#include <optional>
#include <utility>

#include "cli/reading/reader_options.h"
#include "cli/reading/reading_job.h"
#include "replay/flow/flow_in_span.h"

namespace flowback::cli {

class CoverageJob;  // cli/coverage/coverage_job.h

// Counts the recording's selected threads, and gives the counts to the job that makes the report.
class CountingJob final : public ReadingJob {
 public:
  // `report` and `options` must outlive it.
  CountingJob(CoverageJob& report, const ReaderOptions& options, Recording recording)
      : ReadingJob(options, std::move(recording)), report_(report) {}

 private:
  Status Prepare() override;
  Status Run(Output& output) override;
  bool MeetsAllLosses() const override { return true; }
  Status JudgeResult() override;

  CoverageJob& report_;
  std::optional<FlowInSpan> in_span_;  // --time's
};

}  // namespace flowback::cli
