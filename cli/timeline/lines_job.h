// SPDX-License-Identifier: MIT
// `timeline --by line`: source lines by the instructions that they executed.
#pragma once

#include <optional>
#include <utility>

#include "base/name_pattern.h"
#include "cli/reading/reading_job.h"
#include "cli/timeline/timeline_options.h"
#include "flowback/replay/coverage_counts.h"
#include "replay/flow/flow_in_span.h"

namespace flowback::cli {

class LinesJob final : public ReadingJob {
 public:
  LinesJob(const TimelineWords& words, Recording recording)
      : ReadingJob(words.reader, std::move(recording)), words_(words) {}

 private:
  Status Prepare() override;
  Status Run(Output& output) override;
  bool MeetsAllLosses() const override { return true; }
  Status JudgeResult() override;

  Status Write(const CoverageCounts& counts, Output& output);

  const TimelineWords& words_;
  std::optional<NamePattern> pattern_;  // of functions to be shown
  std::optional<FlowInSpan> in_span_;   // --time's
  bool found_any_ = false;
};

}  // namespace flowback::cli
