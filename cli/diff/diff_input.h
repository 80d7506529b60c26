// SPDX-License-Identifier: MIT
// One input of `flowback diff`: a recording or a part file, made into a profile.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "cli/diff/diff_options.h"
#include "cli/reading/reading_job.h"
#include "replay/diff/run_profile.h"
#include "replay/query/query_source.h"

namespace flowback::cli {

class DiffInputJob final : public ReadingJob {
 public:
  // All must outlive it.
  DiffInputJob(const DiffOptions& diff, const ReaderOptions& options, RunProfile& profile,
               Recording recording)
      : ReadingJob(options, std::move(recording)), diff_(diff), profile_(profile) {}

 private:
  Status Prepare() override;
  Status Run(Output& output) override;
  bool MeetsAllLosses() const override { return true; }
  void Keep() const override;

  bool HasCalls() const;
  Status AddWaits();

  const DiffOptions& diff_;
  RunProfile& profile_;
  std::optional<QuerySource> source_;  // of the timeline
};

// Reads a part file. Errors: as ReadPart.
Status ReadPartProfile(const DiffOptions& options, const ReaderOptions& reader, int& losses,
                       RunProfile& profile);

}  // namespace flowback::cli
