// SPDX-License-Identifier: MIT
// `flowback stack` of a recording whose samples contain calls.
#pragma once

#include <memory>

#include "cli/reading/reading_job.h"
#include "cli/samples/sampled_report.h"
#include "cli/stack/stack_options.h"

namespace flowback::cli {

class SampledStackJob final : public ReadingJob {
 public:
  // REQUIRES: CallSamplesOf(recording.config). `options` must outlive it.
  SampledStackJob(const StackOptions& options, Recording recording)
      : ReadingJob(options.reader, std::move(recording)), options_(options) {}

 private:
  Status Prepare() override;
  Status Run(Output& output) override;

  void PrintHeader(Output& output) const;
  // How many of the thread's samples are not behind the moment.
  size_t CountUpTo(const SampledThread& thread) const;
  void Show(const SampledThread& thread, SampledThreads& threads, StackNames& names,
            Output& output);

  const StackOptions& options_;
  uint64_t end_ = UINT64_MAX;  // the moment, perf nanoseconds
};

}  // namespace flowback::cli
