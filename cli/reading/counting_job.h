// SPDX-License-Identifier: MIT
// One run of a command that counts how often each instruction was executed.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "cli/reading/reader_options.h"
#include "cli/reading/reading_job.h"
#include "flowback/replay/coverage_counter.h"
#include "replay/flow/flow_in_span.h"

namespace flowback::cli {

// Prepares the counting of the selected threads, in --time's part of the flow if one is given.
class CountingJob : public ReadingJob {
 public:
  // `options` must outlive it. `work` names the command in the progress.
  CountingJob(std::string work, const ReaderOptions& options, Recording recording)
      : ReadingJob(options, std::move(recording)), work_(std::move(work)) {}

 protected:
  Status Prepare() override;
  Status JudgeResult() override;
  // Whether any flow lay in --time.
  bool has_flow() const { return !in_span_ || in_span_->found_any(); }

 private:
  // Counts, and writes the result. Errors: as Run's.
  virtual Status Count(const CoverageRequest& request, Output& output) = 0;

  Status Run(Output& output) override;
  bool MeetsAllLosses() const override { return true; }

  std::string work_;
  std::optional<FlowInSpan> in_span_;  // --time's
};

}  // namespace flowback::cli
