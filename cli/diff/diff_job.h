// SPDX-License-Identifier: MIT
// One run of `flowback diff`: inputs become profiles, and two sides of them a comparison.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/diff/diff_options.h"
#include "cli/diff/diff_view.h"
#include "cli/text/output.h"
#include "cli/text/status.h"
#include "replay/diff/run_profile.h"

namespace flowback::cli {

// `options` must outlive it.
class DiffJob {
 public:
  explicit DiffJob(const DiffOptions& options) : options_(options) {}

  // Returns the exit status.
  int Run();

 private:
  // Each returns an exit status; one other than kDone ends the work.
  int AddSide(const std::vector<std::string>& inputs, std::vector<RunProfile>& side);
  int AddInput(const ReaderOptions& reader, std::vector<RunProfile>& side);
  int Judge(const DiffView& view) const;

  Status CheckOutputs() const;
  Status CheckChoices() const;
  // Writes a file of the limits; no name: none.
  static Status WriteLimits(const std::string& file, const DiffView& view,
                            void (*write)(const DiffView&, TextSink&));

  const DiffOptions& options_;
  std::vector<RunProfile> old_;
  std::vector<RunProfile> now_;
  std::optional<Output> output_;
  int losses_ = kDone;  // a missing image goes before other losses
};

}  // namespace flowback::cli
