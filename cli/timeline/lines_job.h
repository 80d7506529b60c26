// SPDX-License-Identifier: MIT
// `timeline --by line`: source lines by the instructions that they executed.
#pragma once

#include <optional>
#include <utility>

#include "base/name_pattern.h"
#include "cli/reading/counting_job.h"
#include "cli/timeline/timeline_options.h"
#include "flowback/replay/coverage_counts.h"

namespace flowback::cli {

class LinesJob final : public CountingJob {
 public:
  LinesJob(const TimelineWords& words, Recording recording)
      : CountingJob("timeline", words.reader, std::move(recording)), words_(words) {}

 private:
  Status Prepare() override;
  Status Count(const CoverageRequest& request, Output& output) override;
  Status JudgeResult() override;

  Status Write(const CoverageCounts& counts, Output& output);

  const TimelineWords& words_;
  std::optional<NamePattern> pattern_;  // of functions to be shown
  bool found_any_ = false;
};

}  // namespace flowback::cli
